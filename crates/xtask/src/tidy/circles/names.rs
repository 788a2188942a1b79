//! From a path to the file that defines what it names.

use super::graph::Step;
use super::modules::{Crate, Import, Module, Reach, Written, is_root};

/// Imports that are followed from one to the next; a longer way is a circle of imports, which the compiler refuses.
const IMPORTS_MAX: usize = 32;

/// Every arrow from a file of the crate to another.
pub(super) fn arrows(tree: &Crate) -> Vec<Step> {
    let names = Names { tree };
    let mut steps = Vec::new();
    for (index, module) in tree.modules.iter().enumerate() {
        if is_root(&module.file) {
            continue;
        }
        let imports = module.imports.iter().filter(|import| import.name.is_some());
        for import in imports {
            if let Some(file) = names.imported(index, import) {
                steps.push(step(module, &import.path, file));
            }
        }
        for written in &module.uses {
            if let Some(file) = names.used(index, written) {
                steps.push(step(module, written, file));
            }
        }
    }
    steps.retain(|step| step.from != step.to);
    steps
}

fn step(module: &Module, written: &Written, to: &str) -> Step {
    Step { from: module.file.clone(), to: to.to_owned(), name: written.segments.join("::"), line: written.line }
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// A module.
    Module(usize),
    /// What a module defines.
    ItemOf(usize),
}

struct Names<'a> {
    tree: &'a Crate,
}

impl<'a> Names<'a> {
    fn module(&self, index: usize) -> &'a Module {
        &self.tree.modules[index]
    }

    /// The file of an imported item. A module that is imported is used where a name of it is; a re-export of an own module is no use.
    fn imported(&self, module: usize, import: &Import) -> Option<&'a str> {
        match self.follow(module, &import.path.segments, IMPORTS_MAX)? {
            Named::Module(_) => None,
            Named::ItemOf(owner) if import.reach == Reach::Exported && self.is_inside(owner, module) => None,
            Named::ItemOf(owner) => Some(&self.module(owner).file),
        }
    }

    /// The file that defines what a path in code names.
    fn used(&self, module: usize, written: &Written) -> Option<&'a str> {
        match self.follow(module, &written.segments, IMPORTS_MAX)? {
            // A variable may have a module's name.
            Named::Module(_) => None,
            Named::ItemOf(owner) => Some(&self.module(owner).file),
        }
    }

    fn is_inside(&self, mut module: usize, outer: usize) -> bool {
        while let Some(parent) = self.module(module).parent {
            if parent == outer {
                return true;
            }
            module = parent;
        }
        false
    }

    /// Follows a path as it is written in a module; none leads out of the crate.
    fn follow(&self, module: usize, segments: &[String], imports: usize) -> Option<Named> {
        let (first, rest) = segments.split_first()?;
        match first.as_str() {
            "crate" => self.inside(0, rest, imports),
            "self" => self.inside(module, rest, imports),
            "super" => {
                let parent = self.module(module).parent?;
                match rest.first().map(String::as_str) {
                    Some("super") => self.follow(parent, rest, imports),
                    _ => self.inside(parent, rest, imports),
                }
            }
            name => self.known(module, name).then(|| self.inside(module, segments, imports))?,
        }
    }

    /// Whether a module itself has a name; others lead out of the crate, or are variables.
    fn known(&self, module: usize, name: &str) -> bool {
        let found = self.module(module);
        found.children.contains_key(name)
            || found.items.contains(name)
            || found.imports.iter().any(|import| import.name.as_deref() == Some(name))
            || self.globs(module).any(|import| self.glob(module, import, name, IMPORTS_MAX).is_some())
    }

    /// Follows names from a module that a path has led to.
    fn inside(&self, module: usize, segments: &[String], imports: usize) -> Option<Named> {
        let Some((name, rest)) = segments.split_first() else { return Some(Named::Module(module)) };
        let found = self.module(module);
        let child = found.children.get(name);
        // A function and a module may share a name; what has a path below it is the module.
        if found.items.contains(name) && (rest.is_empty() || child.is_none()) {
            return Some(Named::ItemOf(module));
        }
        if let Some(child) = child {
            return self.inside(*child, rest, imports);
        }
        let left = imports.checked_sub(1)?;
        let imported = found.imports.iter().find(|import| import.name.as_deref() == Some(name));
        if let Some(import) = imported {
            // An import of the crate's own name leads out of it.
            let path = [&import.path.segments, rest].concat();
            return if import.path.segments[0] == *name && !found.children.contains_key(name) {
                None
            } else {
                self.follow(module, &path, left)
            };
        }
        let through = self.globs(module).find_map(|import| self.glob(module, import, name, left));
        // What no item, import or module is called was written by a macro.
        through.or(Some(Named::ItemOf(module)))
    }

    fn globs(&self, module: usize) -> impl Iterator<Item = &'a Import> {
        self.module(module).imports.iter().filter(|import| import.name.is_none())
    }

    /// A name that an import of all names of a module may bring.
    fn glob(&self, module: usize, import: &Import, name: &str, imports: usize) -> Option<Named> {
        let left = imports.checked_sub(1)?;
        let Named::Module(from) = self.follow(module, &import.path.segments, left)? else { return None };
        if from == module {
            return None;
        }
        let found = self.module(from);
        let has = found.items.contains(name)
            || found.children.contains_key(name)
            || found.imports.iter().any(|import| import.name.as_deref() == Some(name));
        if has {
            return self.inside(from, &[name.to_owned()], left);
        }
        self.globs(from).find_map(|import| self.glob(from, import, name, left))
    }
}

//! The modules of a crate: which file each lies in, and the names that it defines and imports.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemUse, Macro, Path, UseTree, Visibility};

use super::super::source::{Source, attributes, is_test_only, is_test_only_member};

/// A path as it is written: its segments, and its line.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

/// A name that a module imports.
#[derive(Debug, Clone)]
pub(super) struct Import {
    /// Under which name; none for all names of a module.
    pub(super) name: Option<String>,
    pub(super) path: Written,
    /// Whether others can use it through this module.
    pub(super) reach: Reach,
}

/// Who can use an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// This module and those inside of it.
    Private,
    /// Others: it is a re-export.
    Exported,
}

/// A module.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) file: String,
    /// None for the root.
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Paths that its code uses.
    pub(super) uses: Vec<Written>,
}

/// The modules of a crate; the first is the root.
#[derive(Debug, Default)]
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
}

/// Whether a file is the root of a crate.
pub(super) fn is_root(file: &str) -> bool {
    let Some((_, below)) = file.split_once("/src/") else { return false };
    matches!(below, "lib.rs" | "main.rs") || below.strip_prefix("bin/").is_some_and(|name| !name.contains('/'))
}

impl Crate {
    /// Reads a crate from its root file and the files of its package.
    pub(super) fn read(root: &Source, files: &BTreeMap<&str, &Source>) -> Self {
        let mut tree = Self::default();
        let folder = root.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        tree.add(Place { file: &root.name, folder: folder.to_owned(), parent: None }, &root.syntax.items, files);
        tree
    }

    fn add(&mut self, place: Place<'_>, items: &[Item], files: &BTreeMap<&str, &Source>) -> usize {
        let index = self.modules.len();
        let mut read = Reader::default();
        items.iter().for_each(|item| read.visit_item(item));
        self.modules.push(Module {
            file: place.file.to_owned(),
            parent: place.parent,
            children: BTreeMap::new(),
            items: read.items,
            imports: read.imports,
            uses: read.uses,
        });
        for item in items {
            let Item::Mod(module) = item else { continue };
            if is_test_only(&module.attrs) {
                continue;
            }
            let name = module.ident.to_string();
            let folder = format!("{}/{name}", place.folder);
            let child = match &module.content {
                Some((_, items)) => self.add(Place { file: place.file, folder, parent: Some(index) }, items, files),
                None => {
                    let names = [format!("{folder}.rs"), format!("{folder}/mod.rs")];
                    let Some(source) = names.iter().find_map(|name| files.get(name.as_str())) else { continue };
                    self.add(Place { file: &source.name, folder, parent: Some(index) }, &source.syntax.items, files)
                }
            };
            self.modules[index].children.insert(name, child);
        }
        index
    }
}

/// Where a module lies.
struct Place<'a> {
    file: &'a str,
    /// Where files of its own modules lie.
    folder: String,
    parent: Option<usize>,
}

/// Reads the names of one module, without those of modules inside of it and of tests.
#[derive(Default)]
struct Reader {
    items: BTreeSet<String>,
    imports: Vec<Import>,
    uses: Vec<Written>,
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(attributes(item)) || matches!(item, Item::Mod(_)) {
            return;
        }
        self.items.extend(name_of(item));
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_test_only_member(item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let reach = match item.vis {
            Visibility::Inherited => Reach::Private,
            Visibility::Public(_) | Visibility::Restricted(_) => Reach::Exported,
        };
        if item.leading_colon.is_none() {
            self.import(&item.tree, Vec::new(), reach);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
            self.uses.push(Written { segments, line });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, found: &'ast Macro) {
        visit::visit_macro(self, found);
        self.uses.extend(paths_in(found.tokens.clone()));
    }

    // `pub(crate)` and attributes use nothing of the crate.
    fn visit_visibility(&mut self, _visibility: &'ast Visibility) {}
    fn visit_attribute(&mut self, _attribute: &'ast Attribute) {}
}

impl Reader {
    fn import(&mut self, tree: &UseTree, mut above: Vec<String>, reach: Reach) {
        let mut add = |name: Option<String>, segments: Vec<String>, line: usize| {
            self.imports.push(Import { name, path: Written { segments, line }, reach });
        };
        match tree {
            UseTree::Path(path) => {
                above.push(path.ident.to_string());
                self.import(&path.tree, above, reach);
            }
            UseTree::Name(name) => {
                let line = name.ident.span().start().line;
                if name.ident == "self" {
                    add(above.last().cloned(), above, line);
                } else {
                    let name = name.ident.to_string();
                    above.push(name.clone());
                    add(Some(name), above, line);
                }
            }
            UseTree::Rename(rename) => {
                let line = rename.ident.span().start().line;
                if rename.ident != "self" {
                    above.push(rename.ident.to_string());
                }
                add(Some(rename.rename.to_string()), above, line);
            }
            UseTree::Glob(glob) => add(None, above, glob.star_token.spans[0].start().line),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, above.clone(), reach)),
        }
    }
}

/// The name that an item defines.
fn name_of(item: &Item) -> Option<String> {
    match item {
        Item::Const(item) => Some(item.ident.to_string()),
        Item::Enum(item) => Some(item.ident.to_string()),
        Item::Fn(item) => Some(item.sig.ident.to_string()),
        Item::Macro(item) => item.ident.as_ref().map(ToString::to_string),
        Item::Static(item) => Some(item.ident.to_string()),
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Trait(item) => Some(item.ident.to_string()),
        Item::TraitAlias(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        Item::Union(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

/// Paths in the arguments of a macro: of more than one segment, or named like a type.
fn paths_in(tokens: proc_macro2::TokenStream) -> Vec<Written> {
    use proc_macro2::TokenTree;
    let mut found: Vec<Written> = Vec::new();
    let mut path = Written { segments: Vec::new(), line: 0 };
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if colons != 2 {
                    found.push(std::mem::replace(&mut path, Written { segments: Vec::new(), line: 0 }));
                }
                if path.segments.is_empty() {
                    path.line = name.span().start().line;
                }
                path.segments.push(name.to_string());
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                found.extend(paths_in(group.stream()));
                colons = 0;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => colons = 0,
        }
    }
    found.push(path);
    let is_type = |name: &str| name.starts_with(char::is_uppercase);
    found.retain(|path| path.segments.len() > 1 || path.segments.first().is_some_and(|name| is_type(name)));
    found
}

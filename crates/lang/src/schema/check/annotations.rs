//! The annotations of a header or a property: from arguments to marks and metadata.

use crate::code::Code;
use crate::findings::At;
use crate::schema::ast::{AnnotationAst, Name, PropertyAst, TypeAst};
use crate::schema::canonical::sort_metadata;
use crate::schema::check::context::{Checker, Rename};
use crate::schema::check::draft::{EmbedMark, PropertyMarks};
use crate::schema::model::{Annotation, Argument, Metadata};
use crate::schema::types::PropertyType;

/// Annotations and constraints with a meaning, to distinguish a misspelled name from one that the user made up.
const KNOWN: [&str; 10] =
    ["description", "instruction", "rename_from", "embed", "key", "unique", "index", "range", "check", "card"];

/// Reads the annotations of a property.
pub(super) fn property_marks<'a>(checker: &mut Checker<'a>, property: &PropertyAst<'a>) -> PropertyMarks {
    let mut marks = PropertyMarks::default();
    for annotation in &property.annotations {
        match annotation.name.text {
            "key" => mark(checker, annotation, &mut marks.key),
            "unique" => mark(checker, annotation, &mut marks.unique),
            "index" => mark(checker, annotation, &mut marks.index),
            "embed" => embed(checker, annotation, property, &mut marks.embed),
            "rename_from" => rename(checker, annotation, &mut marks.rename_from),
            "description" => text(checker, annotation, &mut marks.metadata.description),
            "instruction" => checker.error(whole(annotation), "`@instruction` belongs to types, not to properties"),
            _ => other(checker, annotation, &mut marks.metadata),
        }
    }
    sort_metadata(&mut marks.metadata);
    marks
}

/// Reads the annotations of a type's header.
pub(super) fn header_marks<'a>(checker: &mut Checker<'a>, ast: &TypeAst<'a>) -> Metadata {
    let mut metadata = Metadata::default();
    let mut rename_from = None;
    for annotation in &ast.annotations {
        match annotation.name.text {
            "rename_from" => rename(checker, annotation, &mut rename_from),
            "description" => text(checker, annotation, &mut metadata.description),
            "instruction" => text(checker, annotation, &mut metadata.instruction),
            _ => other(checker, annotation, &mut metadata),
        }
    }
    if let Some(from) = rename_from {
        checker.renames.push(Rename { type_name: ast.name.text.to_owned(), property: None, from });
    }
    sort_metadata(&mut metadata);
    metadata
}

/// The annotation as a named place.
fn whole<'a>(annotation: &AnnotationAst<'a>) -> Name<'a> {
    Name { text: annotation.name.text, at: annotation.at }
}

fn twice(checker: &mut Checker<'_>, annotation: &AnnotationAst<'_>) {
    checker.error(whole(annotation), format!("`@{}` is written twice; keep one", annotation.name.text));
}

/// An annotation without arguments.
fn mark(checker: &mut Checker<'_>, annotation: &AnnotationAst<'_>, slot: &mut Option<At>) {
    if annotation.positional.is_some() || !annotation.named.is_empty() {
        let message = format!("`@{}` on a property takes no argument", annotation.name.text);
        checker.error(whole(annotation), message);
    }
    if slot.replace(annotation.at).is_some() {
        twice(checker, annotation);
    }
}

/// The one non-empty text argument, or a finding.
fn only_text(checker: &mut Checker<'_>, annotation: &AnnotationAst<'_>) -> Option<String> {
    match &annotation.positional {
        Some(Argument::Text(text)) if !text.is_empty() && annotation.named.is_empty() => Some(text.clone()),
        _ => {
            let name = annotation.name.text;
            checker.error(
                whole(annotation),
                format!("malformed `@{name}`: write `@{name}(\"…\")` with one text that is not empty"),
            );
            None
        }
    }
}

fn text(checker: &mut Checker<'_>, annotation: &AnnotationAst<'_>, slot: &mut Option<String>) {
    if slot.is_some() {
        return twice(checker, annotation);
    }
    *slot = only_text(checker, annotation);
}

fn rename(checker: &mut Checker<'_>, annotation: &AnnotationAst<'_>, slot: &mut Option<String>) {
    text(checker, annotation, slot);
}

fn embed(
    checker: &mut Checker<'_>,
    annotation: &AnnotationAst<'_>,
    property: &PropertyAst<'_>,
    slot: &mut Option<EmbedMark>,
) {
    let place = whole(annotation);
    if !matches!(property.ty, PropertyType::Vector(_)) {
        return checker.error(place, "`@embed` needs a Vector property");
    }
    if slot.is_some() {
        return twice(checker, annotation);
    }
    let source = match &annotation.positional {
        Some(Argument::Text(source) | Argument::Identifier(source)) => source.clone(),
        _ => return checker.error(place, "`@embed` needs the name of its source, as in `@embed(\"title\")`"),
    };
    let mut model = None;
    for (name, value) in &annotation.named {
        match (name.text, value) {
            ("model", Argument::Text(value)) if !value.is_empty() => model = Some(value.clone()),
            ("model", _) => checker.error(*name, "the model of `@embed` is a text that is not empty"),
            _ => checker.error(*name, format!("unknown argument `{}` of `@embed`; the only one is `model`", name.text)),
        }
    }
    *slot = Some(EmbedMark { at: annotation.at, source, model });
}

/// An annotation without a meaning: kept, and reported, unless it is one edit from a known name.
fn other(checker: &mut Checker<'_>, annotation: &AnnotationAst<'_>, metadata: &mut Metadata) {
    let name = annotation.name.text;
    if let Some(known) = KNOWN.into_iter().find(|known| within_one_edit(name, known)) {
        let message = format!("unknown annotation `@{name}`: did you mean `@{known}`?");
        return checker.error(annotation.name, message);
    }
    let message = format!("the annotation `@{name}` has no meaning here; it is kept as it is");
    checker.warnings.add(Code::Schema, annotation.at, message);
    metadata.annotations.push(Annotation {
        name: name.to_owned(),
        positional: annotation.positional.clone(),
        named: annotation.named.iter().map(|(name, value)| (name.text.to_owned(), value.clone())).collect(),
    });
}

/// Whether one insertion, deletion or substitution of a byte, or none, makes the texts equal.
fn within_one_edit(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a.as_bytes(), b.as_bytes()) } else { (b.as_bytes(), a.as_bytes()) };
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    match long.len() - short.len() {
        0 => same == short.len() || short[same + 1..] == long[same + 1..],
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}

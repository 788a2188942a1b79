//! Keys, unique tuples, indexes, ranges and checks: from annotations and bodies to the members of a type.

use std::cmp::Ordering;

use crate::code::Code;
use crate::findings::At;
use crate::schema::ast::{ConstraintKindAst, MembersRule, Name, NumberAst, TypeAst};
use crate::schema::check::context::Checker;
use crate::schema::check::draft::Draft;
use crate::schema::model::{Check, Member, PropertyDef, Range, TypeDef, compile_check};
use crate::schema::types::{Bound, PropertyType, Scalar};
use crate::text::clip;

/// Adds every constraint of the type.
pub(super) fn add<'a>(checker: &mut Checker<'a>, def: &mut TypeDef, ast: &TypeAst<'a>, drafts: &[Draft<'a>]) {
    let mut adder = Adder { checker, def };
    for draft in drafts {
        let marks = [
            (draft.marks.key, MembersRule::Key),
            (draft.marks.unique, MembersRule::Unique),
            (draft.marks.index, MembersRule::Index),
        ];
        for (at, rule) in marks {
            if let Some(at) = at {
                adder.members(rule, at, &[Name { text: draft.name.text, at }]);
            }
        }
    }
    for constraint in &ast.constraints {
        match &constraint.kind {
            ConstraintKindAst::Members { rule, members } => adder.members(*rule, constraint.at, members),
            ConstraintKindAst::Range { property, min, max } => adder.range(constraint.at, *property, *min, *max),
            ConstraintKindAst::Check { property, pattern } => adder.check(constraint.at, *property, pattern),
        }
    }
}

struct Adder<'c, 'a> {
    checker: &'c mut Checker<'a>,
    def: &'c mut TypeDef,
}

impl Adder<'_, '_> {
    fn error(&mut self, at: At, message: impl Into<String>) {
        self.checker.findings.add(Code::Schema, at, message);
    }

    fn property(&mut self, name: Name<'_>) -> Option<PropertyDef> {
        let found = self.def.property(name.text).cloned();
        if found.is_none() {
            self.error(name.at, format!("unknown property `{}`", name.text));
        }
        found
    }

    fn members(&mut self, rule: MembersRule, at: At, names: &[Name<'_>]) {
        let mut members = Vec::with_capacity(names.len());
        for name in names {
            let Some(member) = self.member(rule, *name) else { return };
            if members.contains(&member) {
                return self.error(name.at, format!("`{}` is listed twice", name.text));
            }
            members.push(member);
        }
        match rule {
            MembersRule::Key => self.key(at, members),
            MembersRule::Unique => self.def.uniques.push(members),
            MembersRule::Index => self.def.indexes.extend(members),
        }
    }

    fn member(&mut self, rule: MembersRule, name: Name<'_>) -> Option<Member> {
        if self.def.is_edge() && (name.text == "src" || name.text == "dst") {
            return Some(if name.text == "src" { Member::Src } else { Member::Dst });
        }
        let property = self.property(name)?;
        let allowed = match property.ty {
            PropertyType::Scalar(_) | PropertyType::Enum(_) => true,
            PropertyType::Vector(_) => rule == MembersRule::Index,
            PropertyType::List(_) | PropertyType::Blob => false,
        };
        if !allowed {
            let message = format!("`@{}` is not allowed on `{}`, which is a {}", rule.name(), name.text, property.ty);
            self.error(name.at, message);
            return None;
        }
        if rule == MembersRule::Key && property.nullability.is_nullable() {
            self.error(name.at, format!("the key member `{}` must not be nullable; leave out the `?`", name.text));
            return None;
        }
        Some(Member::Property(property.id))
    }

    fn key(&mut self, at: At, members: Vec<Member>) {
        if self.def.is_edge() && !(members.contains(&Member::Src) && members.contains(&Member::Dst)) {
            return self.error(at, "an edge key must hold src and dst, as in `@key(src, dst)`");
        }
        let sorted = |members: &[Member]| {
            let mut sorted = members.to_vec();
            sorted.sort();
            sorted
        };
        match &self.def.key {
            Some(key) if sorted(key) != sorted(&members) => {
                let message = "more than one key; list all members in one `@key(…)`";
                self.error(at, message);
            }
            Some(_) => {}
            None => self.def.key = Some(members),
        }
    }

    fn range(&mut self, at: At, name: Name<'_>, min: Option<NumberAst<'_>>, max: Option<NumberAst<'_>>) {
        let Some(property) = self.property(name) else { return };
        let scalar = match property.ty {
            PropertyType::Scalar(scalar) if scalar.is_numeric() => scalar,
            _ => {
                return self.error(
                    name.at,
                    format!("`@range` needs a numeric property, `{}` is a {}", name.text, property.ty),
                );
            }
        };
        let (min, max) = (self.bound(min, scalar), self.bound(max, scalar));
        let (Some(min), Some(max)) = (min, max) else { return };
        let empty = match (min, max) {
            (Some(Bound::Integer(min)), Some(max)) => max.compare_integer(min).is_lt(),
            (Some(Bound::Single(min)), Some(max)) => max.compare_float(f64::from(min)).is_some_and(Ordering::is_lt),
            (Some(Bound::Double(min)), Some(max)) => max.compare_float(min).is_some_and(Ordering::is_lt),
            _ => false,
        };
        if empty {
            return self.error(at, "empty range: the lower bound is above the upper one");
        }
        self.def.ranges.push(Range { property: property.id, min, max });
    }

    /// The bound, as exact as values of the type; `None` after a finding.
    fn bound(&mut self, number: Option<NumberAst<'_>>, scalar: Scalar) -> Option<Option<Bound>> {
        let Some(number) = number else { return Some(None) };
        let (text, at, bound) = match number {
            NumberAst::Int(text, at) => {
                let legal = |bound: &i128| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(bound);
                (text, at, text.parse().ok().filter(legal).map(Bound::Integer))
            }
            NumberAst::Float(text, at) if scalar == Scalar::F32 => {
                (text, at, text.parse::<f32>().ok().filter(|b| b.is_finite()).map(Bound::Single))
            }
            NumberAst::Float(text, at) => {
                (text, at, text.parse::<f64>().ok().filter(|b| b.is_finite()).map(Bound::Double))
            }
        };
        if bound.is_none() {
            let message =
                format!("the bound {} is out of range: integers from -2^63 to 2^64-1, finite floats", clip(text));
            self.error(at, message);
        }
        bound.map(Some)
    }

    fn check(&mut self, at: At, name: Name<'_>, pattern: &str) {
        let Some(property) = self.property(name) else { return };
        if property.ty != PropertyType::Scalar(Scalar::String) {
            let message = format!("`@check` needs a String property, `{}` is a {}", name.text, property.ty);
            return self.error(name.at, message);
        }
        let check = Check { property: property.id, pattern: pattern.to_owned() };
        match compile_check(&check) {
            Ok(_) => self.def.checks.push(check),
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default();
                self.error(at, format!("the regex does not compile: {}", clip(reason)));
            }
        }
    }
}

//! Mutations: recognized by their whole grammar, to distinguish a malformed one from one that is not supported.

use omnigraph_types::FeatureName;

use crate::findings::{At, ParseFailure};
use crate::lex::Tok;
use crate::query::parse::context::Parser;

/// Which of the two groups that cannot be mixed a statement belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Write,
    Delete,
}

impl Parser<'_> {
    /// Statements up to the closing brace. Returns the first one that mixes deletes with the others.
    pub(super) fn mutation(&mut self) -> Result<Option<At>, ParseFailure> {
        let start = self.cursor.place();
        let (mut first, mut mixed) = (None, None);
        while !self.cursor.is("}") {
            let at = self.cursor.place();
            let group = self.statement()?;
            if *first.get_or_insert(group) != group {
                mixed = mixed.or(Some(at));
            }
        }
        self.unsupported(FeatureName::MutationQueries, start);
        Ok(mixed)
    }

    fn statement(&mut self) -> Result<Group, ParseFailure> {
        match self.cursor.peek() {
            Tok::Lower("insert") => {
                self.cursor.advance();
                self.type_name()?;
                self.assignments()?;
                Ok(Group::Write)
            }
            Tok::Lower("update") => {
                self.cursor.advance();
                self.type_name()?;
                self.cursor.expect_word("set")?;
                self.assignments()?;
                self.cursor.expect_word("where")?;
                self.condition()?;
                Ok(Group::Write)
            }
            Tok::Lower("delete") => {
                self.cursor.advance();
                self.type_name()?;
                self.cursor.expect_word("where")?;
                self.condition()?;
                Ok(Group::Delete)
            }
            _ => self.cursor.unexpected("`insert`, `update`, `delete` or `}`"),
        }
    }

    /// `{ name: value … }`, not empty.
    fn assignments(&mut self) -> Result<(), ParseFailure> {
        self.cursor.expect("{")?;
        loop {
            self.ident("a property name")?;
            self.cursor.expect(":")?;
            self.assigned_value()?;
            self.cursor.eat(",");
            if self.cursor.eat("}") {
                return Ok(());
            }
        }
    }
}

//! Parses a condition.

use super::{CompareOp, Condition};
use crate::error::{Error, Result};
use crate::limits;
use crate::scalar::Scalar;

/// Parses all of `text` as one condition.
pub(super) fn parse(text: &str) -> Result<Condition> {
    let mut parser = Parser::new(text)?;
    let condition = parser.any()?;
    match parser.peek() {
        None => Ok(condition),
        Some(_) => Err(parser.error_here("'and' or 'or' was expected")),
    }
}

/// Parses the values of a cell that holds several, in the format of exports: `[1, -2]`.
pub(super) fn numbers(text: &str) -> Result<Vec<Scalar>> {
    let inner = text.trim().strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let mut parser = Parser::new(inner.ok_or_else(|| Error::invalid("a list in brackets was expected"))?)?;
    let mut values = Vec::new();
    while parser.peek().is_some() {
        values.push(parser.value()?);
        if parser.peek().is_some() && (!parser.accept(&Token::Comma) || parser.peek().is_none()) {
            return Err(parser.error_here("a comma and a value were expected"));
        }
    }
    Ok(values)
}

/// Operators of other languages.
const OTHER_OPERATORS: [&str; 10] = [
    "contains",
    "endswith",
    "eq",
    "ge",
    "gt",
    "ilike",
    "le",
    "lt",
    "matches",
    "startswith",
];

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A word or a backquoted name. Only words can be keywords.
    Name {
        text: String,
        quoted: bool,
    },
    Text(String),
    Number(Scalar),
    Op(CompareOp),
    And,
    Or,
    Not,
    Open,
    Close,
    Comma,
}

struct Parser<'a> {
    text: &'a str,
    /// The tokens, each with the byte at which it starts.
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        Ok(Self {
            text,
            tokens: tokens(text)?,
            at: 0,
            depth: 0,
        })
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, t)| t)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn accept(&mut self, wanted: &Token) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name { text, quoted: false }) if text.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<Condition> {
        let mut all = vec![self.all()?];
        while self.accept(&Token::Or) {
            all.push(self.all()?);
        }
        Ok(one_or(all, Condition::Or))
    }

    fn all(&mut self) -> Result<Condition> {
        let mut all = vec![self.one()?];
        while self.accept(&Token::And) {
            all.push(self.one()?);
        }
        Ok(one_or(all, Condition::And))
    }

    fn one(&mut self) -> Result<Condition> {
        self.depth += 1;
        if self.depth > limits::CONDITION_DEPTH_MAX {
            return Err(Error::invalid(format!(
                "the condition is nested more than {} levels deep",
                limits::CONDITION_DEPTH_MAX
            )));
        }
        let condition = if self.accept(&Token::Not) {
            Condition::Not(Box::new(self.one()?))
        } else if self.accept(&Token::Open) {
            let inner = self.any()?;
            self.close()?;
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn test(&mut self) -> Result<Condition> {
        let start = self.at;
        match self.next() {
            Some(Token::Name { text: field, .. }) => self.test_of(field),
            Some(Token::Number(_) | Token::Text(_)) => {
                self.at = start;
                let value = self.value()?;
                let Some(Token::Op(op)) = self.next() else {
                    return Err(self.error_before("a comparison such as '<' was expected"));
                };
                match self.next() {
                    Some(Token::Name { text: field, .. }) => Ok(Condition::Compare {
                        field,
                        op: op.mirrored(),
                        value,
                    }),
                    _ => Err(self.error_before("the name of a field was expected")),
                }
            }
            _ => Err(self.error_before("the name of a field was expected")),
        }
    }

    fn test_of(&mut self, field: String) -> Result<Condition> {
        if let Some(Token::Op(op)) = self.peek().cloned() {
            self.at += 1;
            if matches!(op, CompareOp::Eq | CompareOp::Ne) && (self.accept_word("null") || self.accept_word("none")) {
                return Ok(Condition::IsNull {
                    field,
                    negated: op == CompareOp::Ne,
                });
            }
            return Ok(Condition::Compare {
                field,
                op,
                value: self.value()?,
            });
        }
        if self.accept_word("is") {
            let negated = self.accept(&Token::Not);
            if !self.accept_word("null") {
                return Err(self.error_here("'null' was expected"));
            }
            return Ok(Condition::IsNull { field, negated });
        }
        let negated = self.accept(&Token::Not);
        if self.accept_word("between") {
            let both = self.between(field)?;
            return Ok(if negated { Condition::Not(Box::new(both)) } else { both });
        }
        if self.accept_word("like") {
            let Some(Token::Text(pattern)) = self.next() else {
                return Err(self.error_before("a pattern in quotes was expected, as in 'a%',"));
            };
            return Ok(Condition::Like {
                field,
                pattern,
                negated,
            });
        }
        if !self.accept_word("in") {
            return Err(self.no_operator());
        }
        if !self.accept(&Token::Open) {
            return Err(self.error_here("'(' was expected"));
        }
        let mut values = vec![self.value()?];
        while self.accept(&Token::Comma) {
            values.push(self.value()?);
        }
        self.close()?;
        Ok(Condition::In { field, values, negated })
    }

    /// The rest of a range, which includes both ends.
    fn between(&mut self, field: String) -> Result<Condition> {
        let low = self.value()?;
        if !self.accept(&Token::And) {
            return Err(self.error_here("'and' and the end of the range were expected"));
        }
        let high = self.value()?;
        let compare = |op, value| Condition::Compare {
            field: field.clone(),
            op,
            value,
        };
        Ok(Condition::And(vec![
            compare(CompareOp::Ge, low),
            compare(CompareOp::Le, high),
        ]))
    }

    /// The error that no operator follows the name of a field.
    fn no_operator(&self) -> Error {
        match self.peek() {
            Some(Token::Name { text, quoted: false }) if OTHER_OPERATORS.contains(&&*text.to_ascii_lowercase()) => self
                .error_here(&format!(
                    "there is no operator '{text}'; use <, <=, >, >=, ==, !=, 'in', 'between', 'like' or 'is null', \
                     also with 'not', joined by 'and', 'or' and 'not';"
                )),
            Some(Token::Name { .. }) => {
                self.error_here("quote unusual names with backquotes; a comparison, 'in' or 'is null' was expected")
            }
            _ => self.error_here("a comparison, 'in' or 'is null' was expected"),
        }
    }

    fn close(&mut self) -> Result<()> {
        if self.accept(&Token::Close) {
            Ok(())
        } else {
            Err(self.error_here("')' was expected"))
        }
    }

    fn value(&mut self) -> Result<Scalar> {
        match self.next() {
            Some(Token::Number(value)) => Ok(value),
            Some(Token::Text(text)) => Ok(Scalar::Bytes(text.into_bytes())),
            Some(Token::Name { text, quoted: false }) => match text.to_ascii_lowercase().as_str() {
                "true" => Ok(Scalar::I64(1)),
                "false" => Ok(Scalar::I64(0)),
                "nan" => Ok(Scalar::F64(f64::NAN)),
                "inf" | "infinity" => Ok(Scalar::F64(f64::INFINITY)),
                _ => Err(self.error_before("a number or a quoted string was expected")),
            },
            _ => Err(self.error_before("a value was expected")),
        }
    }

    fn error_here(&self, why: &str) -> Error {
        let at = self.tokens.get(self.at).map_or(self.text.len(), |(at, _)| *at);
        Error::invalid(format!(
            "condition '{}': {why} at character {}",
            self.text,
            self.text.get(..at).map_or(at, |t| t.chars().count()) + 1
        ))
    }

    /// Reports an error at the previous token.
    fn error_before(&mut self, why: &str) -> Error {
        self.at = self.at.saturating_sub(1);
        self.error_here(why)
    }
}

fn one_or(mut all: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    if all.len() == 1 { all.remove(0) } else { many(all) }
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(out);
        };
        let (token, n) = match first {
            '(' | '[' => (Token::Open, 1),
            ')' | ']' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '\'' | '"' => quoted(rest, first).map(|(s, n)| (Token::Text(s), n))?,
            '`' => quoted(rest, first).map(|(text, n)| (Token::Name { text, quoted: true }, n))?,
            c if c.is_ascii_digit() || "+-.".contains(c) => number(rest)?,
            c if c.is_alphabetic() || c == '_' => word(rest),
            _ => operator(rest)?,
        };
        out.push((at, token));
        rest = rest.get(n..).unwrap_or("");
    }
}

fn quoted(rest: &str, quote: char) -> Result<(String, usize)> {
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((i, c)) = chars.next() {
        if c != quote {
            out.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
            out.push(quote);
            chars.next();
        } else {
            return Ok((out, i + c.len_utf8()));
        }
    }
    Err(Error::invalid(format!(
        "condition: the quote {quote} in {rest} is never closed"
    )))
}

fn number(rest: &str) -> Result<(Token, usize)> {
    let mut n = 0;
    let mut before = ' ';
    for (i, c) in rest.char_indices() {
        let sign = (c == '+' || c == '-') && (i == 0 || before == 'e' || before == 'E');
        if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign) {
            break;
        }
        before = c;
        n = i + c.len_utf8();
    }
    if let Some(date) = bare_date(rest) {
        return Err(Error::invalid(format!(
            "condition: put dates and times in quotes, as in '{date}'"
        )));
    }
    let body: String = rest.get(..n).unwrap_or("").chars().filter(|&c| c != '_').collect();
    let value = body
        .parse()
        .map(Scalar::I64)
        .or_else(|_| body.parse().map(Scalar::U64))
        .or_else(|_| body.parse().map(Scalar::F64));
    value
        .map(|v| (Token::Number(v), n))
        .map_err(|_| Error::invalid(format!("condition: '{body}' is not a number")))
}

/// The date or time that a text begins with, if it is one without quotes: digits with dashes or colons between them.
fn bare_date(rest: &str) -> Option<&str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || ".:+-".contains(c);
    let text = rest.get(..rest.find(|c| !inside(c)).unwrap_or(rest.len()))?;
    let (first, after) = text.split_once(['-', ':'])?;
    let is_digits = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
    (is_digits && after.starts_with(|c: char| c.is_ascii_digit())).then_some(text)
}

fn word(rest: &str) -> (Token, usize) {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let n = rest.find(|c| !inside(c)).unwrap_or(rest.len());
    let text = rest.get(..n).unwrap_or("");
    let token = match text.to_ascii_lowercase().as_str() {
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        _ => Token::Name {
            text: text.to_owned(),
            quoted: false,
        },
    };
    (token, n)
}

fn operator(rest: &str) -> Result<(Token, usize)> {
    let all = [
        ("<=", Token::Op(CompareOp::Le)),
        (">=", Token::Op(CompareOp::Ge)),
        ("==", Token::Op(CompareOp::Eq)),
        ("!=", Token::Op(CompareOp::Ne)),
        ("<>", Token::Op(CompareOp::Ne)),
        ("&&", Token::And),
        ("||", Token::Or),
        ("<", Token::Op(CompareOp::Lt)),
        (">", Token::Op(CompareOp::Gt)),
        ("=", Token::Op(CompareOp::Eq)),
        ("&", Token::And),
        ("|", Token::Or),
        ("!", Token::Not),
    ];
    let found = all.into_iter().find(|(text, _)| rest.starts_with(text));
    found
        .map(|(text, token)| (token, text.len()))
        .ok_or_else(|| Error::invalid(format!("condition: '{rest}' cannot be parsed")))
}

#[cfg(test)]
mod tests;

//! Links from the book to files outside of it.

use anyhow::Context;
use mdbook_preprocessor::book::{Book, Chapter};
use mdbook_preprocessor::errors::Result;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

/// Makes links such as `../CONTRIBUTING.md` lead to the repository, because the website has only the book.
pub(crate) struct OutsideLinks;

impl Preprocessor for OutsideLinks {
    fn name(&self) -> &str {
        "outside-links"
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let repository: String = context
            .config
            .get("output.html.git-repository-url")?
            .context("book.toml has no output.html.git-repository-url")?;
        book.for_each_chapter_mut(|chapter: &mut Chapter| {
            chapter.content = rewritten(&chapter.content, &repository);
        });
        Ok(book)
    }
}

/// The page with repository links. Pages are directly in `docs/`, so a link that leads out starts with `../`.
fn rewritten(page: &str, repository: &str) -> String {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in page.split('\n') {
        in_code ^= line.starts_with("```");
        lines.push(if in_code {
            line.to_owned()
        } else {
            line.replace("](../", &format!("]({repository}/blob/main/"))
        });
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    #[test]
    fn only_links_that_lead_out_change() {
        let page = "[a](../README.md#b) [c](mount.md)\n```sh\n[d](../e)\n```\n[f](../g)";
        let expected = "[a](R/blob/main/README.md#b) [c](mount.md)\n```sh\n[d](../e)\n```\n[f](R/blob/main/g)";
        assert_eq!(rewritten(page, "R"), expected);
    }
}

//! Checks the links between the pages of the website.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

/// Lists the links of all pages in `folder` and below that lead to a missing file or a missing heading.
pub(crate) fn broken_links(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = HashMap::new();
    add_pages(folder, &mut pages)?;
    anyhow::ensure!(!pages.is_empty(), "{} has no pages", folder.display());
    let mut broken = Vec::new();
    for (path, page) in &pages {
        for link in links(page).filter(|l| !leads(path, l, &pages)) {
            broken.push(format!("{}: {link}", path.display()));
        }
    }
    broken.sort();
    Ok(broken)
}

fn add_pages(folder: &Path, pages: &mut HashMap<PathBuf, String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            add_pages(&path, pages)?;
        // Servers show this page at any address, so its links do not start from its own folder.
        } else if path.extension().is_some_and(|e| e == "html") && path.file_name().is_some_and(|n| n != "404.html") {
            let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            pages.insert(path, page);
        }
    }
    Ok(())
}

/// The values of all `href` and `src` attributes.
fn links(page: &str) -> impl Iterator<Item = &str> {
    [" href=\"", " src=\""]
        .into_iter()
        .flat_map(|start| page.split(start).skip(1))
        .filter_map(|rest| rest.split('"').next())
}

/// Whether a link leads to an existing file and heading. Links to other hosts are not followed.
fn leads(page: &Path, link: &str, pages: &HashMap<PathBuf, String>) -> bool {
    if link.contains("://") || link.starts_with("data:") || link.starts_with("mailto:") {
        return true;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_path_buf(),
        file => joined(page.with_file_name(""), Path::new(file)),
    };
    match pages.get(&target) {
        Some(found) => heading.is_empty() || found.contains(&format!(" id=\"{heading}\"")),
        None => target.exists(),
    }
}

/// A path from a folder, without the parts `..`, because the pages are known by such paths.
fn joined(mut folder: PathBuf, path: &Path) -> PathBuf {
    for part in path.components() {
        match part {
            Component::ParentDir => drop(folder.pop()),
            part => folder.push(part),
        }
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::broken_links;

    #[test]
    fn missing_files_and_headings_are_found() {
        let folder = std::env::temp_dir().join(format!("hyperslab-site-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("api")).expect("a new folder");
        let page = "<h2 id=\"a\"></h2><a href=\"#a\"><a href=\"one.html#a\"><a href=\"https://b/c\">\
                    <a href=\"#lost\"><a href=\"two.html\"><img src=\"lost.svg\">";
        std::fs::write(folder.join("one.html"), page).expect("a new page");
        let below = "<a href=\"../one.html#a\"><a href=\"../one.html#none\"><a href=\"../../one.html\">";
        std::fs::write(folder.join("api/two.html"), below).expect("a new page");
        let broken = broken_links(&folder).expect("the folder is read");
        std::fs::remove_dir_all(&folder).expect("the folder is removed");
        let ends: Vec<&str> = broken.iter().filter_map(|b| b.split(": ").nth(1)).collect();
        let all = ["../../one.html", "../one.html#none", "#lost", "lost.svg", "two.html"];
        assert_eq!(ends, all);
    }
}

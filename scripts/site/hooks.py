"""What MkDocs does for the site of docs/ beside its own work (mkdocs.yml):

- pages of the repository outside docs/ (PAGES), and other files that pages link to, are parts of
  the site, below repository/;
- a link whose text is a file's name shows the title of that page;
- a line <!-- include: FILE --> stands for a file of docs/, as a block of code;
- the site has each page's Markdown beside it, as llms.txt names them, and all of them in
  llms-full.txt.
"""

import os
import posixpath
import re
import shutil

from mkdocs.structure.files import File

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# Pages outside docs/.
PAGES = ["CHANGELOG.md", "Sources/PythonClient/README.md"]
OUTSIDE = "repository"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"( *)```")
# Characters of a cell that make its row hard to read on a phone.
LONG_CELL = 60
ICON = "Sources/WebClient/page/icons/icon.svg"


def on_config(config):
    with open(os.path.join(ROOT, "Sources", "Model", "LockstepVersion.swift")) as file:
        version = re.search(r'current = "([^"]+)"', file.read())[1]
    config.copyright = f"Lockstep {version}, {config.copyright}"
    return config


def on_files(files, config):
    for path in PAGES + linked_files(files):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            files.append(File.generated(config, f"{OUTSIDE}/{path}", content=file.read()))
    files.append(File.generated(
        config, "assets/icon.svg", abs_src_path=os.path.join(ROOT, ICON)))
    return files


def linked_files(files):
    """Files outside docs/ that its pages link to, apart from PAGES."""
    found = set()
    for file in files.documentation_pages():
        for _, _, target in LINK.findall(file.content_string):
            path = repository_path(f"docs/{file.src_uri}", target.partition("#")[0])
            if not path.startswith("docs/") and os.path.isfile(os.path.join(ROOT, path)):
                found.add(path)
    return sorted(found - set(PAGES))


def repository_path(source, target):
    """The path from the repository's folder on of what a file there names by a relative path."""
    if ":" in target:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
    real = source[len(OUTSIDE) + 1:] if source.startswith(OUTSIDE + "/") else f"docs/{source}"
    lines, fence = [], None
    markdown = re.sub(
        r"^<!-- include: (\S+) -->$", lambda match: block(match[1], config), markdown, flags=re.M)
    for line in markdown.split("\n"):
        start = FENCE.match(line)
        if start and fence is None:
            fence = len(start[1])
        elif start and len(start[1]) == fence:
            fence, line = None, deeper(line, fence)
        elif fence is None:
            line = re.sub(r"<!-- snippet: .* -->$", "", line)
            line = LINK.sub(lambda match: link(match, real, source, files), line)
            line = deeper(line, len(line) - len(line.lstrip(" ")))
        if fence:
            line = deeper(line, fence)
        lines.append(line)
    return "\n".join(lines)


def block(name, config):
    with open(os.path.join(config.docs_dir, name), encoding="utf-8") as file:
        return f"```ini\n{file.read().strip()}\n```"


def deeper(line, indent):
    """The line with the indentation of a list's content that Python-Markdown needs: four columns,
    where CommonMark needs two or three."""
    return " " * (4 - indent) + line if 0 < indent < 4 else line


def link(match, real, source, files):
    """A link as the site needs it, with the title of the page for a file's name."""
    mark, text, target = match[1], match[2], match[3]
    path, hash, anchor = target.partition("#")
    if not path or ":" in target:
        return match[0]
    path = repository_path(real, path)
    inside = path[len("docs/"):] if path.startswith("docs/") else f"{OUTSIDE}/{path}"
    file = files.get_file_from_path(inside)
    if file is None:
        return match[0]
    if re.fullmatch(r"[\w/-]+\.md", text):
        text = title(file) or text
    relative = posixpath.relpath(inside, posixpath.dirname(source) or ".")
    return f"{mark}[{text}]({relative}{hash}{anchor})"


def title(file):
    found = re.search(r"^# (.+)$", file.content_string, re.M)
    return found and found[1]


def on_page_content(html, page, config, files):
    """Marks what the style needs to know (site.css): code that fits on any line, and tables whose
    rows are easier to read one below the other on a phone."""
    html = re.sub(r"<code>([^<]{1,28})</code>", r'<code class="short">\1</code>', html)
    return re.sub(r"<table>.*?</table>", lambda table: labelled(table[0]), html, flags=re.S)


def labelled(table):
    """A table of three columns or more with long texts gets its headings beside its cells."""
    def words(cell):
        return re.sub(r"<[^>]*>", "", cell).strip()

    heads = [words(cell) for cell in re.findall(r"<th[^>]*>(.*?)</th>", table, re.S)]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table, re.S)
    if len(heads) < 3 or max((len(words(cell)) for cell in cells), default=0) < LONG_CELL:
        return table
    number = iter(range(len(cells)))
    labels = re.sub(
        r"<td", lambda _: f'<td data-label="{heads[next(number) % len(heads)]}"', table)
    return labels.replace("<table>", '<table data-rows="cards">', 1)


def on_post_page(output, page, config):
    """Names the dialog of the search, for screen readers."""
    return output.replace('data-md-component="search" role="dialog"',
                          'data-md-component="search" role="dialog" aria-label="Search"')


def on_post_build(config):
    docs, site = config.docs_dir, config.site_dir
    whole = []
    for name in order(config.nav):
        path = os.path.join(ROOT, name[len(OUTSIDE) + 1:]) if name.startswith(OUTSIDE + "/") \
            else os.path.join(docs, name)
        os.makedirs(os.path.dirname(os.path.join(site, name)), exist_ok=True)
        shutil.copyfile(path, os.path.join(site, name))
        with open(path, encoding="utf-8") as file:
            whole.append(f"<!-- {name} -->\n\n{file.read().strip()}\n")
    with open(os.path.join(site, "llms-full.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(whole))


def order(nav):
    """Pages of the navigation, in its order."""
    for entry in nav:
        values = list(entry.values()) if isinstance(entry, dict) else [entry]
        for value in values:
            yield from order(value) if isinstance(value, list) else [value]

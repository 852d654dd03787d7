"""Reports of the bench, which a person reads, keeps, and compares with later runs."""

import html.parser
import json
import os
import re
import xml.etree.ElementTree

from story import folder, main, refused, run

LATENCY = ["bench", "latency", "--seconds", "2", "--accounts", "5", "--devices", "2", "--rate", "20"]


class Page(html.parser.HTMLParser):
    """The elements of a page, its text, and the data in its script; every opened element must be
    closed."""

    VOID = {"meta", "br", "rect"}

    def __init__(self, path):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.feed(self.source)
        self.close()
        assert not self.open, self.open
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.run = json.loads(data)
        elif "style" not in self.open:
            self.texts.append(data)

    def loads_nothing(self):
        names = {name for name, _ in self.attributes}
        assert not names & {"href", "src", "srcset", "action", "data", "xlink:href"}, names
        assert not {"link", "img", "iframe", "object", "image", "use"} & set(self.tags), self.tags
        style = re.findall(r"<style>(.*?)</style>", self.source, re.DOTALL)
        assert style and all("url(" not in text and "@import" not in text for text in style)


def svg_texts(path):
    tree = xml.etree.ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert tree.tag == space + "svg", tree.tag
    assert tree.find(space + "title").text and tree.find(space + "desc").text
    texts = " ".join(element.text or "" for element in tree.iter(space + "text"))
    assert len(list(tree.iter(space + "path"))) > 6
    return texts


def story_a_run_is_looked_at_and_a_later_one_stands_beside_it():
    """--report writes a page and a picture; --against takes the page, or the output of --json."""
    with folder() as directory:
        page, drawn, later, kept = (
            os.path.join(directory, name) for name in ["a.html", "a.svg", "b.html", "kept.json"])
        text = run(*LATENCY, "--report", page, "--report", drawn).stdout
        assert "change to screen, p50" in text, text
        first = Page(page)
        first.loads_nothing()
        for part in ["change to screen, p99.9", "missing 0 0 met", "duplicated", "Percentiles",
                     "Histogram", "Timeline", "kernel", "Linux", "made at",
                     f"lockstep bench latency --accounts 5 --devices 2 --rate 20 --seconds 2 "
                     f"--report {page} --report {drawn}"]:
            assert part in first.text, (part, first.text)
        assert first.run["bench"] == "latency" and len(first.run["series"]) == 1, first.run
        assert sum(count for _, count in first.run["series"][0]["buckets"]) == 40, first.run
        assert len(first.run["series"][0]["timeline"]) == 2, first.run
        assert "missing 0" in svg_texts(drawn)

        output = run(*LATENCY, "--json", "--report", later, "--against", page).stdout
        second = Page(later)
        second.loads_nothing()
        assert "ratio" in second.text and "earlier run" in second.text, second.text
        assert "not alike" not in second.text, second.text
        assert json.loads(output)["run"] == second.run
        with open(kept, "w") as file:
            file.write(output)

        run(*LATENCY, "--rate", "10", "--report", later, "--report", drawn, "--against", kept)
        third = Page(later)
        assert "plan, changes a second: 10 here, 20 in the earlier run" in third.text, third.text
        assert "differ in plan or machine" in svg_texts(drawn)
        assert sorted(os.listdir(directory)) == ["a.html", "a.svg", "b.html", "kept.json"]


def story_what_cannot_be_written_or_compared_is_said_before_anything_is_measured():
    """An unwritable report is detected before the bench runs; nothing is written."""
    # A bench that would take an hour if it started.
    bench = ["bench", "latency", "--seconds", "3600", "--report"]
    with folder() as directory:
        good = os.path.join(directory, "good.html")
        refused(*bench, "report.txt", says=".svg", code=2)
        refused(*bench, ".html", says=".svg", code=2)
        os.mkdir(os.path.join(directory, "folder.html"))
        refused(*bench, os.path.join(directory, "folder.html"), says="is a folder", code=2)
        refused(*bench, os.path.join(directory, "nowhere", "x.html"),
                says=["No such file", "nothing was measured"])
        refused("bench", "latency", "--against", good, says="--report", code=2)
        refused(*bench, good, "--against", os.path.join(directory, "none"), says="No such file")
        refused(*bench, good, "--against", directory, says="cannot be read")
        for text, says in [("hello", "neither a report nor JSON"), ("{}", "contains no run"),
                           ("<svg></svg>", "a picture"), ('{"format":99}', "newer"),
                           ('{"format":1,"bench":"latency"}', "damaged")]:
            other = os.path.join(directory, "other")
            with open(other, "w") as file:
                file.write(text)
            refused(*bench, good, "--against", other, says=[other, says])
        assert sorted(os.listdir(directory)) == ["folder.html", "other"]


def story_a_load_is_drawn_beside_the_quiet_and_compared_with_its_own_kind():
    """bench first-sync has two curves; a latency bench does not accept its run."""
    with folder() as directory:
        page = os.path.join(directory, "sync.html")
        run("bench", "first-sync", "--records", "1200", "--runs", "1", "--seconds", "1",
            "--report", page)
        drawn = Page(page)
        drawn.loads_nothing()
        for part in ["quiet", "under load", "p50 under load to quiet", "≤ 2"]:
            assert part in drawn.text, (part, drawn.text)
        assert "Timeline" not in drawn.text
        refused(*LATENCY, "--report", page, "--against", page, says=["first-sync", "bench latency"])


if __name__ == "__main__":
    main(globals())

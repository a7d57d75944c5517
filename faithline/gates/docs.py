"""Finishing Data Docs: pages that open offline, and equal bytes for equal results.

Great Expectations' pages load style sheets and scripts from content networks, its index page is filled in by script
only, and load times and random element ids differ from run to run. Here the pages lose every outside reference, get a
small style sheet of their own and stable ids, and the index is written anew.
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from faithline.gates.outcome import SuiteOutcome

__all__ = ["finish"]

_OUTSIDE = re.compile(
    r"<script\b.*?</script>|<style\b.*?</style>|<link\b[^>]*>|<img\b[^>]*>|<footer\b.*?</footer>", re.DOTALL
)
_LOAD_TIME = re.compile(r"\d{8}T\d{6}\.\d{6}Z(?=</span>)")
_NOMINAL_TIME = "1970-01-01T00:00:00Z"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STYLE = """<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1a1a1a }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1.2rem }
td, th { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top }
.fas, .breadcrumb li { display: inline-block; margin-right: .4rem; list-style: none }
.fa-check-circle::before { content: "\\2713"; color: #0a7d33 } .fa-times::before { content: "\\2717"; color: #b3261e }
.card:has(.btn-group), .collapse, [data-toggle="collapse"] { display: none } /* they need scripts */
h4, h5 { margin: 1.2rem 0 .2rem }
</style>
"""


def finish(site: Path, suites: Mapping[str, SuiteOutcome]) -> None:
    """Make a site that Great Expectations rendered self-contained and reproducible, in place.

    Args:
        site: Folder of the site.
        suites: What its suites gave, for the index page.
    """
    shutil.rmtree(site / "static", ignore_errors=True)
    for page in sorted(site.rglob("*.html")):
        page.write_text(_clean(page.read_text(encoding="utf-8")), encoding="utf-8")
    (site / "index.html").write_text(_index(site, suites), encoding="utf-8")


def _clean(text: str) -> str:
    text = _LOAD_TIME.sub("", _OUTSIDE.sub("", text)).replace(_NOMINAL_TIME, "time: see the run's log")
    names: dict[str, str] = {}
    text = _UUID.sub(lambda match: names.setdefault(match[0], f"part-{len(names)}"), text)
    return text.replace("</head>", f"{_STYLE}</head>")


def _index(site: Path, suites: Mapping[str, SuiteOutcome]) -> str:
    rows = []
    for name, suite in suites.items():
        verdict = "passed" if suite.passed else "failed"
        (result,) = site.glob(f"validations/{name}/*/*/*.html")
        links = f'<a href="{result.relative_to(site).as_posix()}">{html.escape(name)}</a>'
        failed = "<br>".join(html.escape(str(line)) for line in (*suite.failed, *suite.lost))
        cells = (links, verdict, suite.declared, suite.evaluated, suite.held, failed)
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("suite", "gate", "declared", "evaluated", "held", "failed"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Data gates</title>\n'
        f"{_STYLE}</head><body>\n<h1>Data gates</h1>\n<table><tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>\n"
        "<p>The pages were rendered by Great Expectations.</p>\n</body></html>\n"
    )

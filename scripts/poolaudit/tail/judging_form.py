"""The judging sheet as one HTML file that works offline.

What an assessor enters is kept in the browser's storage, under a key that is the sample's own, and
saved as a sheet that `sheets.read_sheet` reads. The page asks for nothing from elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from poolaudit.escapes import security_policy
from poolaudit.files import write_text
from poolaudit.tail.sheets import sheet_lines

if TYPE_CHECKING:
    import pandas as pd


def write_form(
    path: Path | str,
    sample: pd.DataFrame,
    grades: Mapping[int, str],
    title: str = "Judging sheet",
    saved_as: str = "judged.tsv",
) -> None:
    """Write the form; equal samples give equal bytes.

    Args:
        path: where to write.
        sample: as `sampling.draw` gave it.
        grades: what each grade that can be given means, as `sheets.scale` says.
        title: of the page.
        saved_as: the name of the file that it saves.
    """
    header, *lines = sheet_lines(sample)
    digest = hashlib.sha256("\n".join([header, *lines]).encode()).hexdigest()
    texts = sample["text"] if "text" in sample else [""] * len(sample)
    documents = [
        {"query_id": q, "query": text, "doc_id": d, "text": t, "line": line}
        for q, text, d, t, line in zip(
            sample["query_id"], sample["query"], sample["doc_id"], texts, lines, strict=True
        )
    ]
    content = {
        "key": f"poolaudit-{digest[:16]}",
        "header": header,
        "grades": [[grade, meaning] for grade, meaning in grades.items()],
        "documents": documents,
    }
    page = _PAGE
    # "<" is escaped so that no text can end the script element.
    data = json.dumps(content, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
    script = _SCRIPT.replace("{saved_as}", saved_as)
    # The data come last: what they hold is never taken for a name in braces.
    for name, text in {
        "policy": security_policy(_STYLE, [script]),
        "style": _STYLE,
        "script": script,
        "title": escape(title),
        "data": data,
    }.items():
        page = page.replace(f"{{{name}}}", text)
    write_text(path, page)


_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 0 1rem; }
header { position: sticky; top: 0; background: Canvas; padding: .5rem 0;
  border-bottom: 1px solid GrayText; display: flex; flex-wrap: wrap; gap: .25rem 1rem;
  align-items: center; }
h1 { font-size: 1.1rem; margin: 0; flex: 1 1 10rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 0; scroll-margin-top: 6rem; }
fieldset { border: 1px solid GrayText; border-radius: .3rem; margin: 1rem 0;
  scroll-margin-top: 6rem; }
fieldset p { white-space: pre-line; overflow-wrap: anywhere; }
legend { overflow-wrap: anywhere; }
label { display: inline-block; padding: .3rem .8rem .3rem 0; }
button { font: inherit; padding: .3rem .8rem; }
#trouble { color: #b00020; flex-basis: 100%; margin: 0; }
@media (prefers-color-scheme: dark) { #trouble { color: #ff8a80; } }
"""

_SCRIPT = """
"use strict";
const sheet = JSON.parse(document.getElementById("data").textContent);
const trouble = document.getElementById("trouble");
const given = {};

function complain(text) {
  trouble.textContent = text;
  trouble.hidden = false;
}

function keep() {
  try {
    localStorage.setItem(sheet.key, JSON.stringify(given));
  } catch {
    complain("This browser keeps nothing: save the TSV before you close the page.");
  }
}

try {
  Object.assign(given, JSON.parse(localStorage.getItem(sheet.key) || "{}"));
} catch {
  complain("What was entered before cannot be read in this browser.");
}

function count() {
  const done = Object.keys(given).length;
  document.getElementById("done").textContent = `${done} of ${sheet.documents.length} judged`;
}

function add(parent, name, text) {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

function option(field, place, value, text) {
  const label = add(field, "label");
  const input = add(label, "input");
  input.type = "radio";
  input.name = `document-${place}`;
  input.value = value;
  input.checked = value === String(given[place] ?? "");
  label.append(` ${text}`);
  input.addEventListener("change", () => {
    if (value === "") delete given[place];
    else given[place] = Number(value);
    keep();
    count();
  });
}

const main = document.querySelector("main");
sheet.documents.forEach((doc, place) => {
  if (!place || doc.query_id !== sheet.documents[place - 1].query_id) {
    add(main, "h2", `${doc.query_id} ${doc.query}`);
  }
  const field = add(main, "fieldset");
  field.id = `place-${place}`;
  add(field, "legend", doc.doc_id);
  if (doc.text) add(field, "p", doc.text);
  for (const [grade, meaning] of sheet.grades) {
    option(field, place, String(grade), meaning ? `${grade}: ${meaning}` : String(grade));
  }
  option(field, place, "", "not judged");
});
count();

document.getElementById("next").addEventListener("click", () => {
  const place = sheet.documents.findIndex((_, i) => !(i in given));
  const field = document.getElementById(`place-${place}`);
  if (!field) return;
  field.scrollIntoView();
  field.querySelector("input").focus({ preventScroll: true });
});

document.getElementById("save").addEventListener("click", () => {
  const lines = sheet.documents.map((doc, place) => doc.line + (given[place] ?? ""));
  const text = [sheet.header, ...lines].join("\\n") + "\\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
  link.download = "{saved_as}";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<span id="done" role="status"></span>
<button id="next" type="button">Next without a grade</button>
<button id="save" type="button">Save as TSV</button>
<p id="trouble" role="alert" hidden></p>
</header>
<main></main>
<noscript>
<p>This form needs JavaScript. The same sheet can be filled in as a text file.</p>
</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""

// Sorting, filtering and a chosen run. Without this script the page has the same content.
(() => {
  "use strict";

  const number = (text) => {
    const found = text.replace(/−/g, "-").replace(/,/g, "").match(/[+-]?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  };

  const sortable = (table) => {
    table.querySelectorAll("thead th[data-sort]").forEach((head) => {
      const column = [...head.parentNode.children].indexOf(head);
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        // Numbers are of most interest from the top, names from the start.
        const numeric = head.dataset.sort === "number";
        const now = head.getAttribute("aria-sort");
        const order = now ? (now === "ascending" ? "descending" : "ascending") : numeric ? "descending" : "ascending";
        table.querySelectorAll("thead [aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const key = (row) => {
          const text = row.cells[column].innerText.split("\n")[0].trim();
          return numeric ? number(text) : text.toLowerCase();
        };
        const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
        // Rows without a value stand last in either direction.
        rows.sort(([a], [b]) => (a === null) - (b === null) || sign * (a < b ? -1 : a > b ? 1 : 0));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  };

  const filterable = (box) => {
    const rows = [...box.querySelectorAll("tbody tr")];
    if (rows.length < 8) return;
    const bar = document.createElement("div");
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("output");
    bar.className = "filter";
    input.type = "search";
    input.id = `filter-${document.querySelectorAll(".filter").length}`;
    label.htmlFor = input.id;
    label.textContent = "Filter";
    const text = rows.map((row) => row.textContent.toLowerCase());
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      rows.forEach((row, i) => { row.hidden = !words.every((word) => text[i].includes(word)); });
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    });
    bar.append(label, input, count);
    box.before(bar);
  };

  const quotable = (sentence) => {
    const text = sentence.textContent.trim();
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "copy";
    button.setAttribute("aria-label", `copy: ${text.slice(0, 60)}`);
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    sentence.append(button);
  };

  const views = [];
  const chooser = document.getElementById("choose");
  const known = new Set([...chooser.options].map((option) => option.value));

  const choose = (run) => {
    chooser.value = run;
    document.querySelectorAll("tr[data-run]").forEach((row) => row.classList.toggle("chosen", row.dataset.run === run));
    views.forEach((view) => view.signal("chosen", run).runAsync());
  };

  const draw = async (script) => {
    const plot = document.getElementById(script.dataset.plot);
    const spec = JSON.parse(script.textContent);
    spec.width = "container";
    const still = plot.firstElementChild;
    const live = document.createElement("div");
    live.setAttribute("aria-hidden", "true");
    plot.append(live);
    const { view } = await vegaEmbed(live, spec, {
      ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true },
    });
    still.remove();
    if (!("chosen" in view.getState({ signals: (name) => name === "chosen" }).signals)) return;
    views.push(view);
    view.signal("chosen", chooser.value).runAsync();
    view.addEventListener("click", (event, item) => {
      const run = item && item.datum && item.datum.run;
      if (known.has(run)) choose(run === chooser.value ? "" : run);
    });
  };

  document.querySelectorAll("main table").forEach(sortable);
  document.querySelectorAll("[data-filter]").forEach(filterable);
  if (navigator.clipboard) document.querySelectorAll(".quotable").forEach(quotable);
  document.querySelector(".choose").hidden = false;
  chooser.addEventListener("change", () => choose(chooser.value));
  document.querySelectorAll("tr[data-run]").forEach((row) => row.addEventListener("click", () => {
    if (String(getSelection())) return;
    choose(row.dataset.run === chooser.value ? "" : row.dataset.run);
  }));

  // Charts are drawn when they come near; until then their drawings stand there.
  const near = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
    near.unobserve(entry.target);
    draw(document.querySelector(`[data-plot="${entry.target.id}"]`));
  }), { rootMargin: "400px" });
  document.querySelectorAll(".plot").forEach((plot) => near.observe(plot));

  // What is folded away is unfolded on paper.
  const folded = () => [...document.querySelectorAll("details:not([open])")];
  let opened = [];
  addEventListener("beforeprint", () => { opened = folded(); opened.forEach((part) => { part.open = true; }); });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

  const links = [...document.querySelectorAll("nav li a")];
  const current = () => {
    const passed = links.filter((link) => document.querySelector(link.hash).getBoundingClientRect().top < innerHeight / 3);
    links.forEach((link) => link.removeAttribute("aria-current"));
    (passed.pop() || links[0]).setAttribute("aria-current", "true");
  };
  addEventListener("scroll", current, { passive: true });
  current();
})();

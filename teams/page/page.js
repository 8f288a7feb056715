"use strict";
// What the pages do beyond plain links and forms: follow a run, filter and sort tables, open a record beside its claim,
// correct a row where it stands.

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

// A run under way. Markup comes from the server, where every text in it was escaped.
function follow(place) {
  let last = place.dataset.after;
  let due = "";
  const heard = {
    again: () => one("#log").replaceChildren(),
    line: ({ html }) => one("#log").insertAdjacentHTML("beforeend", html),
    board: ({ html }) => {
      one("#board").innerHTML = html;
      const said = one("#due").dataset.say.replace(/\d+/g, "…");
      if (said !== due) one("#said").textContent = due = said; // readers of screens hear changes, not each record
    },
    asked: ({ html }) => {
      if (one("#approval").childElementCount && html) return; // somebody may be filling it in
      one("#approval").innerHTML = html;
      one("#asked")?.focus();
    },
    end: () => location.reload(),
    gone: async () => { // the server was ended in the middle of the run, and is back
      await fetch(`${place.dataset.run}/resume`, { method: "POST" });
      location.reload();
    },
  };
  const listen = () => {
    const source = new EventSource(`${place.dataset.run}/events?after=${last}`);
    source.onopen = () => { one("#gone").hidden = true; };
    source.onerror = () => {
      one("#gone").hidden = false; // most browsers ask again by themselves, with the number of the last event
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 1000);
    };
    for (const [kind, answer] of Object.entries(heard)) {
      source.addEventListener(kind, (event) => {
        last = event.lastEventId || last;
        if (kind === "end" || kind === "gone") source.close();
        answer(JSON.parse(event.data));
      });
    }
  };
  listen();
}

const LEVELS = ["high", "moderate", "low", "very low"];

function labelled(label, id, field) {
  field.id = id;
  return element("p", {}, element("label", { for: id }, label), field);
}

const certainty = (row) => LEVELS.findIndex((level) => one(`.l-${level.replace(" ", "-")}`, row));

function filters(tables) {
  const rows = tables.flatMap((table) => all("tbody tr", table));
  const option = (text, value) => element("option", { value }, text);
  const words = element("input", { type: "search", autocomplete: "off" });
  const least = element("select", {}, option("any", LEVELS.length), ...LEVELS.slice(0, 3).map(
    (level, at) => option(at ? `${level} or better` : level, at)));
  const status = element("p", { role: "status" });
  const apply = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const level = certainty(row);
      const fits = row.textContent.toLowerCase().includes(wanted) &&
        (Number(least.value) === LEVELS.length || (level >= 0 && level <= Number(least.value)));
      row.hidden = !fits;
      const card = document.getElementById((one("a[href^='#']", row)?.getAttribute("href") ?? "#").slice(1));
      if (card) card.hidden = !fits;
      shown += fits;
    }
    status.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} candidates shown`;
  };
  words.addEventListener("input", apply);
  least.addEventListener("change", apply);
  const tools = element("div", { class: "tools", role: "group", "aria-label": "Filter the candidates" },
    labelled("Filter by words", "filter-words", words), labelled("Certainty", "filter-certainty", least), status);
  (tables[0].closest(".scroll") ?? tables[0]).before(tools);
}

// A click on a column's name sorts by it, a second one the other way round. Rows move with what stands below them.
function sortBy(table, at, order) {
  const key = (row) => {
    const cell = row.cells[at];
    const level = one(".level", cell) && certainty(cell);
    if (level !== null) return level < 0 ? LEVELS.length : level;
    const text = cell.textContent.trim();
    const number = parseFloat(text.replaceAll(",", ""));
    return /^[\d,.]+(\s|$)/.test(text) ? number : text.toLowerCase();
  };
  const heads = all("thead th", table);
  heads.forEach((each) => each.removeAttribute("aria-sort"));
  heads.find((head) => head.cellIndex === at).setAttribute("aria-sort", order);
  for (const body of table.tBodies) {
    const units = [];
    for (const row of body.rows) {
      if (row.classList.contains("group")) continue;
      if (row.classList.contains("below")) units.at(-1).push(row);
      else units.push([row]);
    }
    units.sort(([a], [b]) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === ""); // what is not reported comes last, either way
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return (x < y ? -1 : x > y ? 1 : 0) * (order === "ascending" ? 1 : -1);
    });
    body.append(...units.flat());
  }
}

function sortable(table) {
  all("thead th:not(.drawn)", table).forEach((head) => {
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const isNumber = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      const order = (before ? before === "descending" : !isNumber) ? "ascending" : "descending";
      sortBy(table, head.cellIndex, order);
    });
  });
}

async function fetchPage(address, options) {
  const answer = await fetch(address, options).catch(() => null);
  if (!answer) return null;
  return { ok: answer.ok, page: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

// A citation opens the record beside the claim, its passages marked. Without scripts it is a page of its own.
function beside(place) {
  const close = element("button", { type: "button", class: "quiet" }, "Close");
  const content = element("div", { class: "content" });
  const panel = element("aside", { id: "beside", "aria-label": "The record cited", tabindex: "-1" }, close, content);
  panel.hidden = true;
  place.append(panel);
  let from = null;
  const shut = () => {
    panel.hidden = true;
    from?.classList.remove("open");
    from?.focus();
  };
  close.addEventListener("click", shut);
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape" && !panel.hidden) shut(); });
  place.addEventListener("click", async (event) => {
    const link = event.target.closest("a[href*='/records/']");
    if (!link || "change" in link.dataset || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    from?.classList.remove("open");
    from = link;
    link.classList.add("open");
    const answer = await fetchPage(link.href);
    if (!answer?.ok) { location.href = link.href; return; }
    content.replaceChildren(one(".record", answer.page));
    all("[name=by]", content).forEach(remember);
    panel.hidden = false;
    panel.focus({ preventScroll: true });
    const mark = one("mark", content);
    link.scrollIntoView({ block: innerWidth < 960 ? "start" : "center" });
    panel.scrollTop = mark ? Math.max(0, mark.offsetTop - panel.clientHeight / 2) : 0;
  });
  return () => { if (!panel.hidden) shut(); };
}

// The workbench: studies are filtered by all fields at once, and the address says by which.
function sifter(form) {
  const status = one("#sifted");
  const fields = all("[name]", form);
  const given = new URLSearchParams(location.search);
  for (const field of fields) field.value = given.get(field.name) ?? "";
  const apply = () => {
    const wanted = Object.fromEntries(fields.map((field) => [field.name, field.value.trim().toLowerCase()]));
    const rows = all("#study-table tbody tr[data-row]");
    let shown = 0;
    for (const row of rows) {
      const { year } = row.dataset;
      const fits = ["drug", "says", "design"].every((name) => !wanted[name] || row.dataset[name].toLowerCase() === wanted[name]) &&
        (!wanted.words || row.textContent.toLowerCase().includes(wanted.words)) &&
        (!/^\d{4}$/.test(wanted.from ?? "") || year >= wanted.from) &&
        (!/^\d{4}$/.test(wanted.to ?? "") || (year && year <= wanted.to));
      row.hidden = !fits;
      const below = row.nextElementSibling;
      if (below?.classList.contains("below")) below.hidden = !fits;
      shown += fits;
    }
    const none = shown ? "" : "; no study fits: change a field above";
    status.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows${none}`;
    const kept = new URLSearchParams(fields.filter((field) => field.value.trim()).map((field) => [field.name, field.value.trim()]));
    history.replaceState(null, "", `${location.pathname}${kept.size ? `?${kept}` : ""}${location.hash}`);
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
  return {
    apply,
    choose: (drug) => {
      for (const field of fields) field.value = field.name === "drug" ? drug : "";
      apply();
    },
  };
}

// A row is corrected where it stands: its sentence and the form of its record's page open below it.
function workbench(bench, shutPanel) {
  const sift = one("#sift") ? sifter(one("#sift")) : null;
  const rowOf = (name) => all("#study-table tr[data-row]").find((row) => row.dataset.row === name);
  const shut = (row) => {
    const below = row.nextElementSibling;
    if (below?.classList.contains("below")) below.remove();
    one("[data-change]", row)?.setAttribute("aria-expanded", "false");
  };
  const open = async (link) => {
    const row = link.closest("tr");
    if (link.getAttribute("aria-expanded") === "true") { shut(row); return; }
    const answer = await fetchPage(link.href);
    const claim = answer?.ok && all(".claim", answer.page).find((each) => each.dataset.drug === link.dataset.change);
    if (!claim) { location.href = link.href; return; }
    all("[name=by]", claim).forEach(remember);
    const cell = element("td", { role: "cell", colspan: row.cells.length }, claim);
    row.after(element("tr", { role: "row", class: "below" }, cell));
    link.setAttribute("aria-expanded", "true");
    (one("[aria-pressed]", claim) ?? one("button", claim))?.focus();
  };
  const renew = (page) => { // everything but the filters, which somebody has set
    const sorted = one("#study-table thead [aria-sort]");
    for (const id of ["moved", "answer", "drugs", "study-table"]) {
      const fresh = page.getElementById(id);
      if (fresh) document.getElementById(id)?.replaceWith(fresh);
    }
    all("table", bench).forEach(sortable);
    if (sorted) sortBy(one("#study-table table"), sorted.cellIndex, sorted.getAttribute("aria-sort"));
    sift?.apply();
  };
  bench.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-change]");
    const drug = event.target.closest("a[data-drug]");
    if (event.ctrlKey || event.metaKey || event.shiftKey || !(link || drug)) return;
    event.preventDefault();
    if (link) { open(link); return; }
    sift?.choose(drug.dataset.drug);
    one("#h-studies").focus({ preventScroll: true });
    one("#studies").scrollIntoView();
  });
  bench.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches(".correct")) return;
    event.preventDefault();
    if (form.dataset.sent) return;
    form.dataset.sent = "yes";
    const row = form.closest("tr")?.previousElementSibling ?? rowOf(`${one("[name=record]", form).value} ${one("[name=drug]", form).value}`);
    const name = row?.dataset.row;
    const body = new URLSearchParams(new FormData(form, event.submitter));
    body.set("back", "workbench");
    const button = event.submitter;
    const label = button?.textContent;
    if (button) button.textContent = form.dataset.busy;
    const answer = await fetchPage(form.action, { method: "POST", body });
    delete form.dataset.sent;
    if (!answer?.ok) {
      if (button) button.textContent = label;
      const line = answer ? one(".problem", answer.page).textContent : "The server does not answer; nothing was changed.";
      one(".problem", form)?.remove();
      form.append(element("p", { class: "problem", role: "alert" }, line));
      return;
    }
    shutPanel();
    renew(answer.page);
    one("#said-moved").textContent = one("#moved").textContent;
    const corrected = rowOf(name);
    const isInSight = corrected && !corrected.hidden; // a filter may hide what it says now
    (isInSight ? one("[data-change]", corrected) : one("#moved")).focus({ preventScroll: true });
    (isInSight ? corrected : one("#moved")).scrollIntoView({ block: "nearest" });
  });
  bench.addEventListener("keydown", (event) => {
    const row = event.target.closest("#study-table tr");
    if (!row) return;
    if (event.key === "Escape" && row.classList.contains("below")) {
      const owner = row.previousElementSibling;
      shut(owner);
      one("[data-change]", owner).focus();
    }
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (!(event.key in steps) || !event.target.matches("#study-table tr[data-row] a")) return;
    const rows = all("#study-table tr[data-row]").filter((each) => !each.hidden);
    const next = rows[rows.indexOf(row) + steps[event.key]];
    if (!next) return;
    event.preventDefault();
    const isChange = "change" in event.target.dataset;
    (isChange ? one("[data-change]", next) : one("a[href*='/records/']", next)).focus();
  });
}

function contents(nav) {
  const links = new Map(all("a[href^='#']", nav).map((link) => [link.getAttribute("href").slice(1), link]));
  const watching = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      for (const [id, link] of links) {
        if (id === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const id of links.keys()) {
    const section = document.getElementById(id);
    if (section) watching.observe(section);
  }
}

// A follow-up is answered below the report; without scripts its answer is a page of its own.
function followUp(form) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = one("#more", form);
    const address = `${form.action}?question=${encodeURIComponent(field.value)}`;
    const button = one("[type=submit]", form);
    button.setAttribute("aria-disabled", "true");
    const answer = await fetchPage(address);
    button.removeAttribute("aria-disabled");
    if (!answer) { location.href = address; return; }
    const told = one(".within", answer.page) ?? element("p", { class: "problem", role: "alert" }, one("main", answer.page).textContent.trim());
    one("#answers").append(told);
    field.value = "";
    told.focus?.();
  });
}

// Files dropped anywhere on the page go into its field for files, which names them and is sent as any other.
function dropping(field) {
  const named = one("#files-named");
  const name = () => {
    const files = [...field.files];
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const isTooMuch = size > Number(field.dataset.most);
    field.setCustomValidity(isTooMuch ? `These files have more than ${field.dataset.most >> 20} MB together; split them.` : "");
    named.textContent = files.map((file) => `${file.name} (${Math.ceil(file.size / 1024)} KB)`).join(", ");
    if (isTooMuch) field.reportValidity();
  };
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (isOver) => document.body.classList.toggle("dropping", isOver);
  field.addEventListener("change", name);
  document.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    mark(true);
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) mark(false); });
  document.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    mark(false);
    field.closest("details").open = true;
    field.files = event.dataTransfer.files;
    name();
    field.focus();
  });
}

// Who corrects is asked once, and kept in this browser.
function remember(field) {
  field.value ||= localStorage.getItem("person") ?? "";
  field.addEventListener("input", () => localStorage.setItem("person", field.value));
}

const live = one("#live");
if (live) follow(live);
const overviews = all("#candidates table.overview");
if (overviews.length) filters(overviews);
const bench = one("#workbench");
all(".report table, #workbench table").forEach(sortable);
const places = all(".report, #workbench");
if (places.length) {
  const shutPanel = beside(places[0]);
  if (bench) workbench(bench, shutPanel);
}
if (one("#follow-up")) followUp(one("#follow-up"));
all("[name=by]").forEach(remember);
if (one("#files")) dropping(one("#files"));
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
});
one("#print")?.addEventListener("click", () => window.print());
const nav = one(".report > nav");
if (nav) contents(nav);
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return; // sent already, by a script of its own
  const { busy } = event.target.dataset;
  const button = busy && (event.submitter ?? one("[type=submit]", event.target));
  if (!button) return;
  if (button.name) event.target.append(element("input", { type: "hidden", name: button.name, value: button.value }));
  if (button.hasAttribute("aria-disabled")) event.preventDefault(); // asked already
  button.setAttribute("aria-disabled", "true");
  button.textContent = busy;
});
document.addEventListener("click", ({ target }) => {
  const name = target.dataset?.all;
  if (!name) return;
  const boxes = all(`[name="${name}"]`, target.closest("form"));
  const none = boxes.every((box) => box.checked);
  for (const box of boxes) box.checked = !none;
});
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

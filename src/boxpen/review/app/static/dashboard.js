/* The dashboard: progress, agreement, time and what needs a look. */

import { address, get } from "./api.js";
import { percent, repeatedly, whoAmI } from "./desk.js";
import { $, counted, h, patch, svg } from "./dom.js";

const SECONDS = 4;
const POOR_GOLD = 0.7; // share of gold items below which a judge is marked
const FAILED_SHOWN = 10;

/** A line from -1 to 1 with an interval and a value; shares of pairs start at 0. */
function gauge({ value, low, high, name }) {
  if (value === null || value === undefined) return null;
  const at = (x) => 4 + ((Math.max(-1, Math.min(1, x)) + 1) / 2) * 168;
  const range = low !== null && low !== undefined && high !== null && high !== undefined;
  return svg("svg", { class: "gauge", viewBox: "0 0 176 16", role: "img", "aria-label": `${name} ${number(value)}, on a line from −1 to 1` },
    svg("path", { class: "rail", d: "M4 8H172" }),
    svg("path", { class: "zero", d: `M${at(0)} 2V14` }),
    range ? svg("path", { class: "range", d: `M${at(low).toFixed(1)} 8H${at(high).toFixed(1)}` }) : null,
    svg("path", { class: "value", d: `M${at(value).toFixed(1)} 1V15` }));
}

function number(value) {
  return value === null || value === undefined ? "–" : value.toFixed(2).replace("-", "−");
}

function interval({ low, high }) {
  return low === null || low === undefined || high === null || high === undefined ? "" : `[${number(low)}, ${number(high)}]`;
}

function taskCard(task) {
  const figures = [["judgements", task.judgements], ["finished", task.finished], ["in dispute", task.disputed], ["open", task.open]];
  return h("article", { class: "card", "data-key": `task ${task.key}`, "data-task": task.key },
    h("header", {},
      h("h2", {}, task.title, " ", h("small", {}, task.key)),
      h("a", { href: address(`export/${encodeURIComponent(task.key)}.jsonl`), download: true }, "Export the journal")),
    h("progress", { max: Math.max(task.questions, 1), value: task.finished, "aria-label": `Finished items of ${task.title}` }),
    h("dl", { class: "figures" },
      h("div", {}, h("dt", {}, "items"), h("dd", {}, task.questions.toLocaleString("en"))),
      figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { "data-figure": name }, value.toLocaleString("en"))))),
    task.disputed ? h("p", {}, h("a", { href: `disputes#${encodeURIComponent(task.key)}` }, `Decide ${counted(task.disputed, "item")} in dispute`)) : null,
    agreementTable(task),
    failedList(task));
}

function agreementTable(task) {
  if (!task.agreement?.length) return h("p", { class: "soft" }, "Agreement is shown once two judges have judged the same items.");
  const caption = h("caption", { class: "hidden" }, `Agreement on ${task.title}`);
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Agreement on ${task.title}` },
    h("table", { class: "agreement" }, caption,
      h("thead", {}, h("tr", {}, ["agreement", "value", "95 % interval", "items"].map((name, n) => h("th", { scope: "col", class: n ? "num" : null }, name)), h("th", { scope: "col" }, h("span", { class: "hidden" }, "drawn")))),
      h("tbody", {}, task.agreement.map((one) => h("tr", { "data-key": one.name },
        h("th", { scope: "row" }, one.name),
        h("td", { class: "num" }, number(one.value)),
        h("td", { class: "num" }, interval(one)),
        h("td", { class: "num" }, (one.n ?? 0).toLocaleString("en")),
        h("td", {}, gauge(one)))))));
  return [table, warnings(task.agreement)];
}

/** Every warning once, with the measures that it is about. */
function warnings(agreement) {
  const about = new Map();
  for (const { name, warning } of agreement) {
    if (warning) about.set(warning, [...(about.get(warning) ?? []), name]);
  }
  if (!about.size) return null;
  return h("ul", { class: "warnings" }, [...about].map(([warning, names]) =>
    h("li", { class: "warning" }, names.length === agreement.length ? "" : `${names.join(", ")}: `, warning)));
}

function failedList(task) {
  const failed = task.failed ?? [];
  if (!failed.length) return null;
  const rows = failed.slice(0, FAILED_SHOWN).map(({ item, right, judges }) => h("li", {}, h("code", {}, item), ` ${right} of ${judges} judges right`));
  return h("details", { "data-key": "failed" },
    h("summary", {}, `${counted(failed.length, "item")} that most judges fail: rewrite or drop`),
    h("ul", {}, rows, failed.length > FAILED_SHOWN ? h("li", {}, `and ${failed.length - FAILED_SHOWN} more`) : null));
}

function judgeTable(judges) {
  if (!judges.length) return h("p", { class: "soft" }, "Nobody has been asked yet.");
  const heads = [["judge", ""], ["task", ""], ["done", "num"], ["", ""], ["seconds per item", "num"], ["very slow / fast", "num"], ["gold items right", "num"], ["last answer", ""]];
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of judges" },
    h("table", { class: "judges" },
      h("thead", {}, h("tr", {}, heads.map(([name, kind]) => h("th", { scope: "col", class: kind || null }, name || h("span", { class: "hidden" }, "drawn"))))),
      h("tbody", {}, judges.map(judgeRow))));
}

function judgeRow(one) {
  const poor = one.gold_total >= 5 && one.gold_right / one.gold_total < POOR_GOLD;
  return h("tr", { class: one.revoked ? "revoked" : null, "data-key": `${one.name} ${one.task}` },
    h("th", { scope: "row" }, one.name, one.role !== "judge" ? h("small", {}, one.role) : null),
    h("td", {}, one.task),
    h("td", { class: "num" }, `${one.done.toLocaleString("en")} of ${one.total.toLocaleString("en")}`),
    h("td", {}, h("progress", { max: Math.max(one.total, 1), value: one.done, "aria-label": `Progress of ${one.name}` })),
    h("td", { class: "num" }, one.seconds_median === null || one.seconds_median === undefined ? "–" : one.seconds_median.toFixed(1)),
    h("td", { class: "num" }, `${one.slow} / ${one.fast}`),
    h("td", { class: poor ? "num poor" : "num" }, one.gold_total ? `${one.gold_right} of ${one.gold_total} (${percent(one.gold_right, one.gold_total)})` : "–"),
    h("td", {}, when(one.last)));
}

function outlierTable(outliers) {
  if (!outliers.length) return h("p", { class: "soft" }, "No answer was unusually slow or fast.");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of outliers" },
    h("table", {},
      h("thead", {}, h("tr", {}, ["judge", "task", "item", "seconds", ""].map((name) => h("th", { scope: "col", class: name === "seconds" ? "num" : null }, name || h("span", { class: "hidden" }, "kind"))))),
      h("tbody", {}, outliers.slice(0, 50).map((one) => h("tr", {},
        h("th", { scope: "row" }, one.judge), h("td", {}, one.task), h("td", {}, h("code", {}, one.item)),
        h("td", { class: "num" }, one.seconds.toFixed(1)), h("td", {}, one.kind))))));
}

/** "just now", "5 min ago", or a date. */
function when(time) {
  if (!time) return "–";
  const then = new Date(time);
  const minutes = (Date.now() - then) / 60_000;
  if (Number.isNaN(minutes)) return String(time);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${Math.floor(minutes)} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return then.toISOString().slice(0, 10);
}

function show(data) {
  const { campaign } = data;
  $("campaign").textContent = campaign.name || "Dashboard";
  const rule = campaign.rule ? `${campaign.rule[0].toUpperCase()}${campaign.rule.slice(1)}.` : "";
  $("about").textContent = rule + (campaign.blind ? " Judges see no hints, adjudicators no names." : "");
  patch($("tasks"), data.tasks.map(taskCard));
  patch($("judges"), [judgeTable(data.judges)]);
  patch($("outliers"), [outlierTable(data.outliers)]);
  document.documentElement.dataset.ready = "yes";
}

if (await whoAmI()) await repeatedly(async () => show(await get("api/dashboard")), SECONDS);

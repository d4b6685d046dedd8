// What stands above and below the player proper: title, prompt and notes of a run.

function heading(run) {
  const nodes = [];
  if (run.title) nodes.push(el("p", { class: "cp-title", text: run.title }));
  if (run.prompt) {
    const preview = el("span", { class: "cp-preview", text: clipped(printable(run.prompt).replace(/\s+/g, " "), 160) });
    nodes.push(
      el(
        "details",
        { class: "cp-prompt" },
        el("summary", {}, "Prompt ", preview),
        el("pre", { dir: "auto", tabindex: "0", "aria-label": "Prompt", role: "group", text: printable(run.prompt) }),
      ),
    );
  }
  return nodes;
}

function runNotes(run) {
  return run.notes.length ? [el("ul", { class: "cp-notes" }, ...run.notes.map((text) => el("li", { text })))] : [];
}

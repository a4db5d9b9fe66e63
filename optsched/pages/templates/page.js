"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const below = y + 16 + height < innerHeight;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - width - 4)) + "px";
    tip.style.top = Math.max(4, below ? y + 16 : y - height - 12) + "px";
  };
  const hide = () => { tip.hidden = true; };

  // Bars: what stands behind them.
  for (const bar of document.querySelectorAll("[data-tip]")) {
    bar.addEventListener("pointermove", (e) => show(bar.dataset.tip, e.clientX, e.clientY));
    bar.addEventListener("pointerleave", hide);
    bar.addEventListener("focus", () => {
      const box = bar.getBoundingClientRect();
      show(bar.dataset.tip, box.left, box.bottom - 12);
    });
    bar.addEventListener("blur", hide);
  }

  // Tables: a click on a head sorts, a second one turns the order. Cells without a number come last.
  const number = (cell) => {
    const said = cell.dataset.v;
    if (said === undefined) return null;
    const first = said.split(" ")[0];
    return first === "inf" ? Infinity : first === "-inf" ? -Infinity : Number(first);
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, k) => head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const rows = [...body.rows].map((row) => [number(row.cells[k]), row.cells[k].textContent, row]);
      const counted = rows.some((row) => row[0] !== null);
      rows.sort((a, b) => {
        if (!counted) return (down ? -1 : 1) * a[1].localeCompare(b[1]);
        if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null);
        return a[0] === b[0] ? 0 : (a[0] < b[0]) !== down ? -1 : 1;
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows.map((row) => row[2]));
    }));
  }

  // Curves: a name shows or hides one; the pointer, or the arrow keys, read all of them.
  for (const figure of document.querySelectorAll("figure.plot")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const area = figure.querySelector(".area"), cursor = figure.querySelector(".cursor");
    const [low, high, log] = data.axis;
    const hidden = new Set();
    for (const button of figure.querySelectorAll("[data-curve]:is(button)")) {
      button.addEventListener("click", () => {
        const k = button.dataset.curve, off = !hidden.has(k);
        if (off) hidden.add(k); else hidden.delete(k);
        button.setAttribute("aria-pressed", String(!off));
        figure.querySelector(`g[data-curve="${k}"]`).toggleAttribute("hidden", off);
      });
    }
    const at = (xs, x) => { // the last step at or before x
      let a = -1, b = xs.length;
      while (b - a > 1) { const m = (a + b) >> 1; if (xs[m] <= x) a = m; else b = m; }
      return a;
    };
    const percent = (x) => (100 * x).toPrecision(3) + " %";
    const said = (curve, x) => {
      if (curve.ratio) {
        const k = at(curve.ratio, x);
        if (k < 0) return "0 %";
        const least = percent(curve.at_least[k]), most = percent(curve.at_most[k]);
        return least === most ? least : least + " to " + most;
      }
      const k = at(curve.seconds, x);
      return k < 0 ? "-" : curve.value[k].toPrecision(6);
    };
    let share = 0.5;
    const read = () => {
      const x = log ? low * (high / low) ** share : low + share * (high - low);
      const box = area.getBoundingClientRect();
      cursor.hidden = false;
      cursor.style.left = 100 * share + "%";
      const lines = data.curves.filter((_, k) => !hidden.has(String(k))).map((c) => c.name + ": " + said(c, x));
      show([(data.curves[0].ratio ? "ratio at most " : data.across + ": ") + x.toPrecision(4), ...lines].join("\n"),
        box.left + share * box.width, box.top + box.height / 3);
    };
    const leave = () => { cursor.hidden = true; hide(); };
    const point = (e) => {
      const box = area.getBoundingClientRect();
      share = Math.max(0, Math.min(1, (e.clientX - box.left) / box.width));
      read();
    };
    area.addEventListener("pointermove", point);
    area.addEventListener("pointerdown", point);
    area.addEventListener("pointerleave", leave);
    area.addEventListener("focus", read);
    area.addEventListener("blur", leave);
    area.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -0.01, ArrowRight: 0.01 }[e.key];
      if (step === undefined) return;
      e.preventDefault();
      share = Math.max(0, Math.min(1, share + step));
      read();
    });
  }
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
  document.documentElement.dataset.ready = "yes";
})();

// One collection's page: its words and charts follow the stream of posteriors.
"use strict";

(() => {
  const AT_LEAST = 1000; // milliseconds between two looks
  const SPOKEN = 20000; // between two words to a screen reader
  const LEVELS = ["q05", "q25", "q50", "q75", "q95"];
  const NORMAL_90 = 1.645;

  const live = document.getElementById("live");
  const id = live.dataset.collection;
  const base = `/collections/${id}`;
  const part = (name) => document.getElementById(name);
  const count = (x) => Intl.NumberFormat("en").format(x);
  const percent = (x) => `${Math.round(100 * x)}%`;

  let charts = null;
  let plan = null;
  let planned = 0;

  async function get(path) {
    const reply = await fetch(path, { cache: "no-store" });
    if (!reply.ok) throw new Error(`${reply.status}`);
    return reply;
  }

  const told = (x) => Plots.short(Number(x.toPrecision(4)));
  const bands = ([q05, q25, , q75, q95]) => `50% ${told(q25)} to ${told(q75)}, 90% ${told(q05)} to ${told(q95)}`;

  function drawTrajectories() {
    for (const [name, line] of Object.entries(charts.parameters)) {
      const from = line.answers.findIndex((n) => n > 0);
      if (from < 0) continue;
      const [answers, mean, ...levels] = ["answers", "mean", ...LEVELS].map((each) => line[each].slice(from));
      const [low, middle, high] = ["q05", "q50", "q95"].map((level) => Plots.short(line[level].at(-1)));
      Plots.draw(`trajectory-${name}`, {
        kind: "trajectory",
        numbers: [answers, ...levels],
        label: `${name} after ${count(charts.answers)} answers: median ${middle}, 90% band from ${low} to ${high}`,
        words: (i) =>
          `After ${count(answers[i])} answers: mean ${told(mean[i])}, median ${told(levels[2][i])}, ` +
          `${bands(levels.map((level) => level[i]))}.`,
      });
    }
  }

  function drawQuestions() {
    const { answers, edges } = charts.questions;
    if (!answers.length) return;
    const asked = (i) =>
      edges
        .map((line) => line.at(i))
        .filter((x) => x !== null)
        .map(Plots.short)
        .join(", ");
    Plots.draw("questions", {
      kind: "questions",
      numbers: [answers, ...edges],
      label: `Thresholds of the questions, the newest at ${asked(-1)}`,
      words: (i) => `After ${count(answers[i])} answers: a question with thresholds at ${asked(i)}.`,
    });
  }

  const highest = (line) => line.indexOf(Math.max(...line));

  function drawDensities() {
    for (const [name, { x, density }] of Object.entries(charts.densities)) {
      const top = highest(density);
      Plots.draw(`density-${name}`, {
        kind: "density",
        numbers: [x, density],
        label: `Density of ${name}, highest at ${Plots.short(x[top])}`,
        words: (i) => `${name} = ${told(x[i])}: ${percent(density[i] / density[top])} of the highest density.`,
        begin: top,
      });
    }
  }

  function drawPopulation() {
    part("population").closest("figure").hidden = !charts.population;
    if (!charts.population) return;
    const { x } = charts.population;
    const levels = LEVELS.map((level) => charts.population[level]);
    const what = charts.discrete ? "share of the people" : "density";
    Plots.draw("population", {
      kind: charts.discrete ? "whole" : "population",
      numbers: [x, ...levels],
      label: `The population with its 50% and 90% bands, from ${Plots.short(x[0])} to ${Plots.short(x.at(-1))}`,
      words: (i) => `At ${told(x[i])}: ${what} ${told(levels[2][i])}, ${bands(levels.map((level) => level[i]))}.`,
      begin: highest(levels[2]),
    });
  }

  function drawPace() {
    const { time, per_minute: perMinute } = charts.pace;
    if (!time.length) return;
    Plots.draw("pace", {
      kind: "pace",
      numbers: [time, perMinute],
      label: `Answers a minute, ${Plots.short(perMinute.at(-1))} at the end`,
      words: (i) => `Until ${new Date(time[i] * 1000).toLocaleTimeString()}: ${told(perMinute[i])} answers a minute.`,
    });
  }

  function draw() {
    part("charts").hidden = charts.answers === 0;
    for (const name of ["png", "copy"]) part(name).hidden = charts.answers === 0;
    if (charts.answers === 0) return;
    drawTrajectories();
    drawQuestions();
    drawDensities();
    drawPopulation();
    drawPace();
  }

  function duration(minutes) {
    if (minutes < 90) return `${Math.max(1, Math.round(minutes))} minutes`;
    if (minutes < 2880) return `${Math.round(minutes / 60)} hours`;
    return `${count(Math.round(minutes / 1440))} days`;
  }

  function sayNeeded() {
    const name = part("target-parameter").value;
    const step = Number(part("target").value);
    const { sd, more } = plan[name];
    const width = `± ${Plots.short(Number((NORMAL_90 * sd[step]).toPrecision(3)))}`;
    const needed = Number(more[step].toPrecision(2));
    const pace = charts?.pace.per_minute.at(-1) ?? 0;
    const time = needed && pace > 0 ? `, ${duration(needed / pace)} at the present pace` : "";
    const few = step ? "takes few more answers" : "is what is known now";
    const answers = needed ? `takes about ${count(needed)} more answers${time}` : few;
    part("needed").textContent = `${name} to within ${width} (90% sure) ${answers}.`;
    part("target").setAttribute("aria-valuetext", width);
  }

  async function look() {
    const [words, numbers] = await Promise.all([get(`${base}/findings.json`), get(`${base}/charts.json`)]);
    const findings = await words.json();
    charts = await numbers.json();
    // Made by this server, which escapes what anybody wrote.
    for (const name of ["summary", "details"]) part(name).innerHTML = findings[name];
    draw();
    if (charts.answers >= 1 && charts.answers > 1.1 * planned) {
      planned = charts.answers;
      try {
        plan = await (await get(`${base}/precision.json`)).json();
        part("precision").hidden = false;
      } catch {
        part("precision").hidden = true;
      }
    }
    if (plan) sayNeeded();
  }

  let spoken = 0;
  function say(text, atOnce) {
    part("shown").textContent = text;
    if (!atOnce && Date.now() - spoken < SPOKEN) return;
    spoken = Date.now();
    part("spoken").textContent = text;
  }

  let over = false;
  let looking = false;
  let again = false;
  async function lookSoon() {
    again = true;
    if (looking) return;
    looking = true;
    while (again) {
      again = false;
      try {
        await look();
        if (over)
          say(`The collection is closed: these are its last numbers, of ${count(charts.answers)} answers.`, true);
        else
          say(
            `Live: follows the answers as they come, ${count(charts.answers)} at ${new Date().toLocaleTimeString()}.`,
          );
      } catch {
        say("The server did not answer; the page shows what it knew before.", true);
      }
      await new Promise((done) => setTimeout(done, AT_LEAST));
      if (document.hidden) await new Promise((done) => addEventListener("visibilitychange", done, { once: true }));
    }
    looking = false;
  }

  const stream = new EventSource(`/v1/collections/${id}/posterior/stream`);
  stream.addEventListener("posterior", lookSoon);
  stream.addEventListener("state", (event) => {
    const { state } = JSON.parse(event.data);
    over = state === "closed"; // comes last, once every answer is learnt
    if (over) stream.close();
    const changed = part("state").textContent !== state;
    part("state").textContent = state;
    part("respond")?.toggleAttribute("hidden", state !== "open");
    if (over || changed) lookSoon();
  });
  stream.addEventListener("error", () => {
    const ended = stream.readyState === EventSource.CLOSED;
    say(ended ? "The stream has ended: load the page again." : "The connection is lost; trying again.", true);
  });

  for (const name of ["target", "target-parameter"]) part(name).addEventListener("input", sayNeeded);

  part("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(part("citation").textContent);
      say("The citation is copied.", true);
    } catch {
      // not over plain http from another machine, nor if the person says no
      getSelection().selectAllChildren(part("citation"));
      say("The citation is selected: copy it.", true);
    }
  });

  part("png").addEventListener("click", () => {
    const heading = `${live.dataset.name}, ${count(charts.answers)} answers, ${charts.updated_at.slice(0, 10)}`;
    Plots.picture(heading).toBlob((content) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(content);
      link.download = `${id}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  });
})();

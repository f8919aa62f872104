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

  let charts = null;
  let plan = null;
  let planned = 0;

  async function get(path) {
    const reply = await fetch(path, { cache: "no-store" });
    if (!reply.ok) throw new Error(`${reply.status}`);
    return reply;
  }

  function drawTrajectories() {
    for (const [name, line] of Object.entries(charts.parameters)) {
      const from = line.answers.findIndex((n) => n > 0);
      if (from < 0) continue;
      const numbers = [line.answers, ...LEVELS.map((level) => line[level])].map((all) => all.slice(from));
      const [low, middle, high] = ["q05", "q50", "q95"].map((level) => Plots.short(line[level].at(-1)));
      Plots.draw(
        `trajectory-${name}`,
        "trajectory",
        numbers,
        `${name} after ${count(charts.answers)} answers: median ${middle}, 90% band from ${low} to ${high}`,
      );
    }
  }

  function drawQuestions() {
    const { answers, edges } = charts.questions;
    if (!answers.length) return;
    const last = edges
      .map((line) => line.at(-1))
      .filter((x) => x !== null)
      .map(Plots.short)
      .join(", ");
    Plots.draw("questions", "questions", [answers, ...edges], `Thresholds of the questions, the newest at ${last}`);
  }

  function drawPopulation() {
    for (const [name, { x, density }] of Object.entries(charts.densities)) {
      const top = x[density.indexOf(Math.max(...density))];
      Plots.draw(`density-${name}`, "density", [x, density], `Density of ${name}, highest at ${Plots.short(top)}`);
    }
    if (!charts.population) return;
    const { x } = charts.population;
    Plots.draw(
      "population",
      charts.discrete ? "whole" : "population",
      [x, ...LEVELS.map((level) => charts.population[level])],
      `The population's density with its 50% and 90% bands, from ${Plots.short(x[0])} to ${Plots.short(x.at(-1))}`,
    );
  }

  function drawPace() {
    const { time, per_minute: perMinute } = charts.pace;
    if (!time.length) return;
    Plots.draw("pace", "pace", [time, perMinute], `Answers a minute, ${Plots.short(perMinute.at(-1))} at the end`);
  }

  function draw() {
    part("charts").hidden = charts.answers === 0;
    for (const name of ["png", "copy"]) part(name).hidden = charts.answers === 0;
    if (charts.answers === 0) return;
    drawTrajectories();
    drawQuestions();
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
        say(`Live: follows the answers as they come, ${count(charts.answers)} at ${new Date().toLocaleTimeString()}.`);
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
  stream.addEventListener("error", () => {
    const over = stream.readyState === EventSource.CLOSED;
    say(over ? "The stream has ended: load the page again." : "The connection is lost; trying again.", true);
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

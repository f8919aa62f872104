// In a page of the server: a line for each case of the shared vectors that the browser's client does not meet.
// oxlint-disable-next-line no-unused-expressions -- the page evaluates it
async (vectors) => {
  const { Client, Ledger, decodeJson, parseMicro, parseQuery, parseTicket } = await import("/web/dither.js");
  const { parseProblem, parseReceipt } = await import("/web/messages.js");
  const { uniform } = await import("/web/sampling.js");
  const { leastMicroEpsilon } = await import("/web/gaussian_law.js");
  const { epsilonText } = await import("/web/epsilon.js");
  const { parseAddress } = await import("/web/http.js");
  const { parseTerms } = await import("/web/messages.js");
  const { checkKept, checkQuestion, priceOf } = await import("/web/price.js");
  const failures = [];
  const expect = (what, found, wanted) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
      failures.push(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    }
  };
  const question = (text) => parseQuery(decodeJson(text));
  const refusal = async (work) => {
    try {
      await work();
      return null;
    } catch (error) {
      return error;
    }
  };
  for (const { query, values, cells } of vectors.cells) {
    expect(
      `cells of ${query}`,
      values.map((value) => question(query).cell(value)),
      cells,
    );
    expect(`round trip of ${query}`, question(JSON.stringify(question(query))), question(query));
  }
  for (const { query, channel } of vectors.channels) {
    const asked = question(query);
    for (const [cell, row] of channel.entries()) {
      for (const [answer, wanted] of row.entries()) {
        if (!(Math.abs(asked.probability(cell, answer) / wanted - 1) < 1e-12)) {
          failures.push(`channel of ${query} at ${cell}, ${answer}: ${asked.probability(cell, answer)}`);
        }
      }
    }
    expect(`answers of ${query}`, [asked.nCells, asked.nAnswers], [channel.length, channel[0].length]);
  }
  for (const { query, cell, answer, calls } of vectors.samples) {
    const script = [...calls];
    const found = question(query).sample(cell, (n) => {
      const [below, drawn] = script.shift() ?? ["nothing more", "0"];
      expect(`call for ${query}`, String(n), below);
      return BigInt(drawn);
    });
    expect(`sample of ${query}`, [found, script.length], [answer, 0]);
  }
  for (const { body, error, reason } of vectors.tickets) {
    const found = await refusal(() => parseTicket(decodeJson(body)));
    expect(`refusal of ${body.slice(0, 300)}`, [found?.name, found?.message], [error, reason]);
  }
  for (const { terms, ticket, epsilon, error, reason } of vectors.prices) {
    const chosen = epsilon === null ? null : Number(parseMicro(epsilon));
    const price = priceOf(parseTerms(decodeJson(terms)));
    const found = await refusal(() => checkQuestion(price, parseTicket(decodeJson(ticket)).query, chosen));
    expect(`price of ${terms} for ${ticket}`, [found?.name ?? null, found?.message ?? null], [error, reason]);
  }
  for (const { url, server } of vectors.addresses) {
    let found = null;
    await refusal(() => (found = parseAddress(url)));
    expect(`address ${url}`, found, server);
  }
  for (const { told, now, reason } of vectors.raised) {
    const [before, after] = [told, now].map((text) => parseTerms(decodeJson(text)));
    const found = await refusal(() => checkKept(priceOf(before), after));
    expect(`raised from ${told} to ${now}`, found?.message ?? null, reason);
  }
  for (const { json, micro, reason } of vectors.epsilons) {
    let found = null;
    const error = await refusal(() => (found = Number(parseMicro(decodeJson(json)))));
    expect(`epsilon ${json}`, [found, error?.message ?? null], [micro, reason]);
  }
  for (const { text, hex, repeat, read } of vectors.texts) {
    const body = hex
      ? Uint8Array.from(hex.match(/../g), (byte) => parseInt(byte, 16))
      : new TextEncoder().encode(text ?? repeat.map(([part, times]) => part.repeat(times)).join(""));
    const error = await refusal(() => decodeJson(body));
    expect(
      `reading ${text ?? hex ?? repeat}`,
      [error === null, error?.name ?? null],
      [read, read ? null : "BadResponse"],
    );
  }
  const source = (hex) => {
    const bytes = (hex.match(/../g) ?? []).map((byte) => parseInt(byte, 16));
    return { rest: bytes, fill: (into) => into.set(bytes.splice(0, into.length)) };
  };
  for (const { below, bytes, drawn } of vectors.uniform) {
    const { rest, fill } = source(bytes);
    const found = drawn.map(() => String(uniform(fill)(BigInt(below))));
    expect(`uniform below ${below}`, [found, rest.length], [drawn, 0]);
  }
  for (const { query, cell, bytes, answer } of vectors.answers) {
    const { rest, fill } = source(bytes);
    const found = question(query).sample(cell, uniform(fill));
    expect(`drawn for ${query}`, [found, rest.length], [answer, 0]);
  }
  for (const { body, micro } of vectors.terms) {
    let found = null;
    const error = await refusal(() => (found = parseTerms(decodeJson(body)).microEpsilon));
    expect(`terms ${body}`, [found, error?.name ?? null], [micro, micro === null ? "BadResponse" : null]);
  }
  for (const { body, receipt } of vectors.receipts) {
    let found = null;
    const error = await refusal(() => (found = parseReceipt(decodeJson(body))));
    expect(
      `receipt ${body.slice(0, 300)}`,
      [found, error?.name ?? null],
      [receipt, receipt === null ? "BadResponse" : null],
    );
  }
  for (const { body, name } of vectors.problems) {
    expect(`problem ${body}`, parseProblem(400, body).reason, name);
  }
  const [ownFetch, ownRandom] = [globalThis.fetch, crypto.getRandomValues];
  for (const { name, value, bytes, runs, ledger: last } of vectors.flows) {
    const server = "https://server.example";
    const ledger = new Ledger({ name: `flow ${name}`, maxEpsilon: "10" });
    const stored = async () => {
      const entry = await ledger.find(server, "c");
      if (entry === null) {
        return null;
      }
      const { state, query, ticket, answer, retryKey, receipt } = entry;
      return { state, micro_epsilon: query.microEpsilon, ticket, answer, retry_key: veiled(retryKey), receipt };
    };
    const keys = new Set();
    const veiled = (key) => {
      keys.add(key ?? "");
      return /^[!-~]{16,128}$/.test(key) ? "*" : key;
    };
    const { fill } = source(bytes);
    // 24 bytes at once are the retry key's, which the vectors do not tell.
    crypto.getRandomValues = (into) => (into.length === 24 ? ownRandom.call(crypto, into) : fill(into));
    for (const [number, { steps, outcome }] of runs.entries()) {
      const script = [...steps];
      const what = `flow ${name}, run ${number}`;
      const found = await new Promise((end) => {
        globalThis.fetch = async (url, { method, body }) => {
          const step = script.shift();
          const request = `${method} ${url.slice(server.length)}`;
          const sent = body === undefined ? null : JSON.parse(body);
          if (sent?.retry_key !== undefined) {
            sent.retry_key = veiled(sent.retry_key);
          }
          expect(what, [request, sent, await stored()], [step?.request, step?.body, step?.ledger]);
          if (step?.reply === "killed") {
            end("killed");
            return new Promise(() => {});
          }
          if (step === undefined || step.reply === "lost") {
            throw new TypeError("the connection failed");
          }
          return new Response(step.reply.body, { status: step.reply.status });
        };
        new Client(server, { ledger, retry: { first: 0.001 } }).answer("c", value).then(
          () => end("receipt"),
          (error) => end(error.name),
        );
      });
      expect(what, [found, script.length], [outcome, 0]);
    }
    expect(`flow ${name}, afterwards`, await stored(), last);
    keys.delete("");
    expect(`flow ${name}, retry keys`, keys.size <= 1, true);
    await ledger.close();
  }
  globalThis.fetch = ownFetch;
  crypto.getRandomValues = ownRandom;
  for (const { levels, rho, epsilon } of vectors.gaussian) {
    expect(`gaussian ${levels} ${rho}`, epsilonText(leastMicroEpsilon(levels, Number(parseMicro(rho)))), epsilon);
  }
  for (const [number, { max_epsilon, max_epsilon_per_server, charges }] of vectors.ledgers.entries()) {
    const caps = { maxEpsilon: max_epsilon, maxEpsilonPerServer: max_epsilon_per_server };
    const ledger = new Ledger({ name: `vectors ${number}`, ...caps });
    for (const { server, collection, epsilon, refused, spent } of charges) {
      const text = `{"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": "${epsilon}"}`;
      const error = await refusal(() => ledger.charge(server, collection, "t", question(text)));
      const found = error?.message.replace("maxEpsilon", "max_epsilon") ?? null;
      expect(`charge of ${epsilon}`, [found, await ledger.spent()], [refused, spent]);
    }
    await ledger.close();
  }
  return failures;
};

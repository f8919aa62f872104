// In a page of the server: a line for each case of the shared vectors that the browser's client does not meet.
// oxlint-disable-next-line no-unused-expressions -- the page evaluates it
async (vectors) => {
  const { Ledger, decodeJson, parseMicro, parseQuery, parseTicket } = await import("/web/dither.js");
  const { leastMicroEpsilon } = await import("/web/gaussian_law.js");
  const { epsilonText } = await import("/web/epsilon.js");
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
  for (const { json, micro, reason } of vectors.epsilons) {
    let found = null;
    const error = await refusal(() => (found = Number(parseMicro(decodeJson(json)))));
    expect(`epsilon ${json}`, [found, error?.message ?? null], [micro, reason]);
  }
  for (const { levels, rho, epsilon } of vectors.gaussian) {
    expect(`gaussian ${levels} ${rho}`, epsilonText(leastMicroEpsilon(levels, Number(parseMicro(rho)))), epsilon);
  }
  for (const [number, { max_epsilon, max_epsilon_per_server, charges }] of vectors.ledgers.entries()) {
    const caps = { maxEpsilon: max_epsilon, maxEpsilonPerServer: max_epsilon_per_server };
    const ledger = new Ledger({ name: `vectors ${number}`, ...caps });
    for (const { server, collection, epsilon, refused, spent } of charges) {
      const text = `{"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": "${epsilon}"}`;
      const error = await refusal(() => ledger.charge(server, collection, "t", question(text)));
      expect(`charge of ${epsilon}`, [error?.message ?? null, await ledger.spent()], [refused, spent]);
    }
    await ledger.close();
  }
  return failures;
};

/** Requests to one server, over https or to this machine, repeated unchanged; responses of at most a megabyte. */

/** @import { Retry } from "./dither.d.ts" */

import { BadResponse, InvalidAddress, Unreachable } from "./errors.js";

const ID = /^[A-Za-z0-9_-]{1,128}$/;
const LOOPBACK = /^(localhost|.+\.localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/;
const HOST = /^(\[[0-9a-f:]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)$/;
const PATH = /^(\/[A-Za-z0-9._~-]+)*$/;
const MAX_BODY = 1 << 20;
const TIMEOUT = 120_000;

/**
 * The server without its path, as it is in entries made before ledgers distinguished paths.
 *
 * @param {string} server
 */
export function originOf(server) {
  return server.split("/").slice(0, 3).join("/");
}

/**
 * The address that identifies a server in the ledger and precedes every path. A server has one spelling: the host in
 * lower case and ASCII without a final dot, no port if it is the scheme's default, and a path without final slashes.
 *
 * @param {string} url
 */
export function parseAddress(url) {
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw new InvalidAddress("the server's URL must be of the form https://HOST[:PORT][/PATH]");
  }
  if (!/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password || /[?#]/.test(String(url))) {
    throw new InvalidAddress("the server's URL must be of the form https://HOST[:PORT][/PATH]");
  }
  if (parsed.hostname.endsWith(".")) {
    parsed.hostname = parsed.hostname.slice(0, -1);
  }
  const path = parsed.pathname.replace(/\/+$/, "");
  if (!HOST.test(parsed.hostname) || !PATH.test(path)) {
    throw new InvalidAddress("the server's URL must be of the form https://HOST[:PORT][/PATH]");
  }
  if (parsed.protocol === "http:" && !LOOPBACK.test(parsed.hostname)) {
    throw new InvalidAddress("the server's URL must begin with https; http is only for a server on this machine");
  }
  return parsed.origin + path;
}

/**
 * The path of a collection, or of a resource below it. Throws `InvalidAddress` if `collection` cannot be an id.
 *
 * @param {string} collection
 * @param {string[]} rest
 */
export function collectionPath(collection, ...rest) {
  if (typeof collection !== "string" || !ID.test(collection)) {
    throw new InvalidAddress("a collection's id may contain only letters, digits, - and _");
  }
  return ["/v1/collections", collection, ...rest].join("/");
}

/**
 * Makes a request, and repeats it after a failed connection, a status of 500 or above, or 429. The wait before attempt
 * n + 1 is uniform on `[1/2, 1] first 2^(n-1)` seconds; Retry-After may lengthen it, but it never exceeds `longest`.
 * Resolves to `{status, body}`. Throws `Unreachable`.
 *
 * @param {string} method
 * @param {string} url
 * @param {string} [body]
 * @param {Retry} retry
 */
export async function exchange(method, url, body, { attempts = 6, first = 0.5, longest = 30 } = {}) {
  let response = null;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    response = await once(method, url, body);
    if (response !== null && response.status < 500 && response.status !== 429) {
      return response;
    }
    if (attempt < attempts) {
      const backoff = (first * 2 ** (attempt - 1) * (1 + Math.random())) / 2;
      await sleep(Math.min(Math.max(backoff, response?.retryAfter ?? 0), longest));
    }
  }
  if (response === null) {
    const tries = attempts === 1 ? "one attempt" : `${attempts} attempts`;
    throw new Unreachable(`no response from the server in ${tries}: check its address, or try later`);
  }
  return response;
}

/** @type {(seconds: number) => Promise<void>} */
export function sleep(seconds) {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}

/**
 * The response, or null if the connection failed.
 *
 * @param {string} method
 * @param {string} url
 * @param {string} [body]
 */
async function once(method, url, body) {
  const stop = new AbortController(); // AbortSignal.timeout is not everywhere
  const timer = setTimeout(() => stop.abort(), TIMEOUT);
  try {
    const response = await fetch(url, {
      method,
      body, // oxlint-disable-line no-invalid-fetch-options -- undefined for a GET
      headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
      cache: "no-store",
      credentials: "omit",
      redirect: "manual",
      referrerPolicy: "no-referrer",
      signal: stop.signal,
    });
    const asked = response.headers.get("retry-after") ?? "";
    const retryAfter = /^[0-9]+$/.test(asked) ? Number(asked) : 0; // it may also be a date, which is ignored: the clock is never read
    const status = response.type === "opaqueredirect" ? 300 : response.status; // redirects are never followed
    return { status, retryAfter, body: await bounded(response) };
  } catch (error) {
    if (error instanceof BadResponse) {
      throw error;
    }
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The bytes of the body. Throws `BadResponse` if there are more than a megabyte after decompression.
 *
 * @param {Response} response
 */
async function bounded(response) {
  if (!response.body) {
    return whole(await response.arrayBuffer()); // there is no body, or no stream of it, as in React Native
  }
  const parts = [];
  let room = MAX_BODY;
  const reader = response.body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    room -= read.value.length;
    if (room < 0) {
      reader.cancel().catch(() => {});
      throw tooLong();
    }
    parts.push(read.value);
  }
  const joined = new Uint8Array(MAX_BODY - room);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** @param {ArrayBuffer} body */
function whole(body) {
  if (body.byteLength > MAX_BODY) {
    throw tooLong();
  }
  return new Uint8Array(body);
}

function tooLong() {
  return new BadResponse("the server's response is too long");
}

// What `dither.d.ts` declares is what the module is: checked with the types, and never run.

import * as dither from "../../client/dither_client/web/dither.js";

export const declared: typeof import("../../client/dither_client/web/dither.d.ts") = dither;

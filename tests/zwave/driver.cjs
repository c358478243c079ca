// Options of the driver behind `zwave-server`: keys that protect nothing, and its files where HOUSE_FOLDER says.
const path = require("node:path");

const folder = process.env.HOUSE_FOLDER;

module.exports = {
  securityKeys: {
    S0_Legacy: "0102030405060708090a0b0c0d0e0f10",
    S2_AccessControl: "11111111111111111111111111111111",
    S2_Authenticated: "22222222222222222222222222222222",
    S2_Unauthenticated: "33333333333333333333333333333333",
  },
  storage: { cacheDir: path.join(folder, "cache") },
  logConfig: { enabled: true, level: "info", logToFile: true, filename: path.join(folder, "driver"), forceConsole: false },
};

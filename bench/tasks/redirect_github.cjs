// Node loads this before the GitHub server: what it asks of api.github.com goes to a recording on this machine.
const { fetch } = globalThis;
globalThis.fetch = (address, options) => fetch(String(address).replace("https://api.github.com", process.env.RECORDED_GITHUB), options);

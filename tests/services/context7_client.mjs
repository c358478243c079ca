// Context7's own client against another address, which it has no option for: node context7_client.mjs ADDRESS KEY
import { Context7 } from "@upstash/context7-sdk";

const [address, apiKey] = process.argv.slice(2);
const client = new Context7({ apiKey });
client.httpClient.baseUrl = address;
const libraries = await client.searchLibrary("validators", "pydantic");
const passages = await client.getContext("validators", `${libraries[0].id}/${libraries[0].versions[1]}`);
const text = await client.getContext("validators", libraries[0].id, { type: "txt" });
const mistake = await client.getContext("validators", "/no/library").catch((error) => error.message);
console.log(JSON.stringify({ libraries, passages, text, mistake }));

// A real OpenID provider for tests: anybody who gives a name is that person, and nobody is asked to consent.
//
//   node provider.mjs '{"port": 0, "redirect_uris": ["http://127.0.0.1/oauth/callback"], "people": {"ann": ["dev"]}}'
//
// It exchanges an ID token for an assertion (ID-JAG) to another issuer, and takes one of the issuer that it `trusts`.
//
// It writes its issuer as one line when it listens, and ends when its stdin is closed.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

import { createRemoteJWKSet, importJWK, jwtVerify, SignJWT } from 'jose';
import Provider, { errors, interactionPolicy } from 'oidc-provider';

const options = JSON.parse(process.argv[2]);
const people = new Map(Object.entries(options.people)); // groups by name
const hour = 60 * 60;

function makeKey(type, use) {
  const { privateKey } = generateKeyPairSync(type, { modulusLength: 2048, namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid: type, use };
}

const keys = [makeKey('rsa', 'sig'), makeKey('ec', 'sig')];
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ASSERTION = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

function describeResource(resource) {
  // An audience that begins like this gets a token whose content only this provider knows.
  const opaque = resource.startsWith('urn:opaque:');
  return { scope: 'mcp', audience: resource, accessTokenFormat: opaque ? 'opaque' : 'jwt', jwt: { sign: { alg: 'ES256' } } };
}

async function grantEverything(ctx) {
  const { account, client, params, session } = ctx.oidc;
  const grant = new ctx.oidc.provider.Grant({ accountId: session.accountId, clientId: client.clientId });
  grant.addOIDCScope('openid profile email offline_access groups');
  for (const resource of [params.resource ?? []].flat()) grant.addResourceScope(resource, 'mcp');
  await grant.save();
  return account ? grant : undefined;
}

function describePerson(ctx, name) {
  return {
    accountId: name,
    claims: () => ({ sub: name, name: `${name} of the team`, email: `${name}@example.com`, groups: people.get(name) ?? [] }),
  };
}

const policy = interactionPolicy.base();
policy.get('consent').checks.remove('native_client_prompt');

const configuration = {
  clients: [
    {
      client_id: 'dashboard', // of one server or another: the port of its address does not matter
      client_secret: 'the-dashboard-is-known-by-this',
      application_type: 'native',
      redirect_uris: options.redirect_uris,
      post_logout_redirect_uris: options.redirect_uris.map((uri) => new URL('/', uri).href),
      grant_types: ['authorization_code', 'refresh_token', EXCHANGE],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    {
      client_id: 'tests',
      redirect_uris: [],
      response_types: [],
      grant_types: ['urn:onetool:person'],
      token_endpoint_auth_method: 'none',
    },
    {
      client_id: 'machine',
      client_secret: 'the-machine-is-known-by-this',
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials', ASSERTION],
    },
  ],
  claims: { openid: ['sub'], profile: ['name'], email: ['email'], groups: ['groups'] },
  conformIdTokenClaims: false, // the groups are in the ID token too
  cookies: { keys: ['tests'] },
  extraTokenClaims: (ctx, token) => ({ groups: people.get(token.accountId) ?? [], name: `${token.accountId ?? token.clientId}` }),
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: (ctx, resource) => describeResource(resource),
      useGrantedResource: () => true,
    },
    revocation: { enabled: true },
    rpInitiatedLogout: { enabled: true },
  },
  findAccount: describePerson,
  interactions: { policy, url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  jwks: { keys },
  loadExistingGrant: grantEverything,
  pkce: { required: () => true },
  rotateRefreshToken: true,
  scopes: ['openid', 'offline_access', 'profile', 'email', 'groups'],
  ttl: { AccessToken: hour, AuthorizationCode: 60, Grant: hour, IdToken: hour, Interaction: hour, RefreshToken: hour, Session: hour },
};

const server = createServer();
server.listen(options.port, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configuration);

  provider.on('server_error', (ctx, error) => process.stderr.write(`${error.stack}\n`));

  // A token for a person at once, without a browser: its parameters are the person.
  provider.registerGrantType(
    'urn:onetool:person',
    async (ctx) => {
      const { groups, resource, seconds, sub } = ctx.oidc.params;
      if (groups !== undefined) people.set(sub, groups.split(' ').filter(Boolean));
      const token = new provider.AccessToken({
        accountId: sub,
        client: ctx.oidc.client,
        expiresIn: Number(seconds ?? hour),
        gty: 'urn:onetool:person',
        resourceServer: resource && new provider.ResourceServer(resource, describeResource(resource)),
        scope: resource ? 'mcp' : 'openid',
      });
      ctx.body = { access_token: await token.save(), expires_in: token.expiration, token_type: 'Bearer' };
    },
    ['groups', 'resource', 'seconds', 'sub'],
  );

  // The first half of enterprise-managed authorization: an ID token of a client for an assertion to another issuer.
  provider.registerGrantType(
    EXCHANGE,
    async (ctx) => {
      const { audience, requested_token_type: wanted, resource, scope, subject_token: token } = ctx.oidc.params;
      if (wanted !== ID_JAG || !audience || !resource) throw new errors.InvalidRequest('not what is exchanged here');
      const { payload } = await provider.IdToken.validate(token, ctx.oidc.client).catch(() => {
        throw new errors.InvalidGrant('not an ID token of this client');
      });
      if (people.get(payload.sub)?.includes('outsiders')) throw new errors.AccessDenied('the policy says no');
      const assertion = await new SignJWT({ client_id: 'machine', resource, scope })
        .setProtectedHeader({ alg: 'RS256', kid: 'rsa', typ: 'oauth-id-jag+jwt' })
        .setIssuer(issuer).setSubject(payload.sub).setAudience(audience).setJti(`${Math.random()}`)
        .setIssuedAt().setExpirationTime('5m')
        .sign(await importJWK(keys[0], 'RS256'));
      ctx.body = { access_token: assertion, issued_token_type: ID_JAG, token_type: 'N_A', expires_in: 300, scope };
    },
    ['audience', 'requested_token_type', 'resource', 'scope', 'subject_token', 'subject_token_type'],
  );

  // The second half: an assertion of the issuer that is trusted for an access token.
  provider.registerGrantType(
    ASSERTION,
    async (ctx) => {
      const { assertion, resource } = ctx.oidc.params;
      const trusted = createRemoteJWKSet(new URL('/jwks', options.trusts));
      const { payload } = await jwtVerify(assertion, trusted, {
        audience: issuer, issuer: options.trusts, requiredClaims: ['jti', 'sub'], typ: 'oauth-id-jag+jwt',
      }).catch((error) => {
        throw new errors.InvalidGrant(`not an assertion: ${error.message}`);
      });
      const { client } = ctx.oidc;
      if (payload.client_id !== client.clientId || payload.resource !== resource) throw new errors.InvalidGrant('of another');
      const token = new provider.AccessToken({
        accountId: payload.sub,
        client,
        expiresIn: hour,
        gty: ASSERTION,
        resourceServer: new provider.ResourceServer(resource, describeResource(resource)),
        scope: payload.scope,
      });
      ctx.body = { access_token: await token.save(), expires_in: token.expiration, scope: payload.scope, token_type: 'Bearer' };
    },
    ['assertion', 'resource', 'scope'],
  );

  provider.use(async (ctx, next) => {
    if (!ctx.path.startsWith('/interaction/')) return next();
    const interaction = await provider.interactionDetails(ctx.req, ctx.res);
    const typed = ctx.method === 'POST' ? await readForm(ctx.req) : new URLSearchParams();
    const name = typed.get('login') ?? interaction.params.login_hint;
    if (!name) {
      ctx.body = '<!doctype html><title>Log in</title><form method="post"><label>Name <input name="login" autofocus></label><button>Log in</button></form>';
      return undefined;
    }
    ctx.respond = false;
    return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: name } });
  });

  server.on('request', provider.callback());
  process.stdout.write(`${issuer}\n`);
});

async function readForm(request) {
  let body = '';
  for await (const piece of request) body += piece;
  return new URLSearchParams(body);
}

process.stdin.resume();
process.stdin.on('end', () => process.exit());

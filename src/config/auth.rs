//! Who is let in at the public door: everybody, or whoever brings a token that one key opens.

use super::environment::Environment;
use super::rows;
use super::vars::{AuthMode, AuthVars};
use crate::adapters::inbound::api::auth::{ExpectedClaims, KeySource, KeysError, TokensConfig};
use secrecy::ExposeSecret;

const SECRET: &str = "AUTH_JWT_SECRET";
const PUBLIC_KEY: &str = "AUTH_JWT_PUBLIC_KEY_FILE";
const JWKS: &str = "AUTH_JWKS_FILE";

/// What RFC 7518 asks of a secret for HS256.
const SECRET_BYTES: usize = 32;

/// `None` with `AUTH_MODE=none`, which must be said openly where strangers can connect.
pub(super) fn read(env: &mut Environment, loopback: bool) -> Option<TokensConfig> {
    let vars: AuthVars = env.group("AUTH_", rows::AUTH);
    match vars.mode.map(|mode| mode.0) {
        Some(AuthMode::Jwt) => return tokens(env, vars),
        Some(AuthMode::None) => {}
        None if loopback => env.found_out("AUTH_MODE", "none"),
        None => {
            env.refuse("AUTH_MODE", "jwt, or none: HTTP_ADDR is not a loopback address");
        }
    }
    let without_effect = [
        (SECRET, vars.jwt_secret.is_some()),
        (PUBLIC_KEY, vars.jwt_public_key_file.is_some()),
        (JWKS, vars.jwks_file.is_some()),
        ("AUTH_JWT_ISSUER", vars.jwt_issuer.is_some()),
        ("AUTH_JWT_AUDIENCE", vars.jwt_audience.is_some()),
    ];
    for (name, set) in without_effect {
        if set {
            env.warn(name, "no value: it has no effect without AUTH_MODE=jwt");
        }
    }
    None
}

fn tokens(env: &mut Environment, vars: AuthVars) -> Option<TokensConfig> {
    if vars.jwt_audience.is_none() {
        let expected = "this API's name: without it a token for any other service opens this one";
        env.warn("AUTH_JWT_AUDIENCE", expected);
    }
    let keys = keys(env, &vars)?;
    let expected = ExpectedClaims { issuer: vars.jwt_issuer, audience: vars.jwt_audience };
    Some(TokensConfig { keys, expected })
}

/// Exactly one source: of two, one would be forgotten when keys are changed.
fn keys(env: &mut Environment, vars: &AuthVars) -> Option<KeySource> {
    let secret = vars.jwt_secret.as_ref();
    let pem = vars.jwt_public_key_file.as_deref();
    let jwks = vars.jwks_file.as_deref();
    if secret.is_some_and(|secret| secret.expose_secret().len() < SECRET_BYTES) {
        let expected = "at least 32 bytes: a shorter one can be guessed";
        if env.is_sandbox() {
            env.warn(SECRET, expected);
        } else {
            env.refuse(SECRET, expected);
        }
    }
    let sources = [
        secret.map(|secret| (SECRET, "a secret", KeySource::secret(secret))),
        pem.map(|file| (PUBLIC_KEY, "a file with a public key in PEM", KeySource::pem_file(file))),
        jwks.map(|file| (JWKS, "a file with a JWK set", KeySource::jwks_file(file))),
    ];
    let mut sources = sources.into_iter().flatten();
    let Some((first, expected, keys)) = sources.next() else {
        env.refuse(
            SECRET,
            &format!("a secret for AUTH_MODE=jwt; or {PUBLIC_KEY} or {JWKS} instead"),
        );
        return None;
    };
    for (other, ..) in sources {
        env.refuse(other, &format!("no value beside {first}"));
    }
    let tell = |fault: KeysError| env.refuse(first, &format!("{expected} ({fault})"));
    keys.map_err(tell).ok()
}

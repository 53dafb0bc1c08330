"""Authlib's authorization server, as one that people of a team would sign in at: code with PKCE, refresh tokens that are good once,
registration, introspection, revocation, ID tokens; resource indicators (RFC 8707), which Authlib leaves to whoever uses it.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# The library's types leave the parameters of its own methods open.
import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from authlib.oauth2 import JsonRequest, OAuth2Request
from authlib.oauth2.rfc6749 import AuthorizationServer, InvalidRequestError
from authlib.oauth2.rfc6749.errors import OAuth2Error
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload, JsonPayload
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oauth2.rfc9207 import IssuerParameter
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from joserfc.jwk import KeySet
from starlette.responses import JSONResponse, RedirectResponse, Response

from tests.authorization.records import Code, Given, Granted, Member, Registered

CODE_SECONDS = 60


class InvalidTarget(OAuth2Error):
    """RFC 8707: the resource is not the one that was granted."""

    error = "invalid_target"


class FormRequest(OAuth2Request):
    """A request as the library reads it, its body read already."""

    def __init__(self, method: str, uri: str, said: Mapping[str, str], headers: Mapping[str, str]) -> None:
        super().__init__(method, uri, headers=headers)
        self.payload = BasicOAuth2Payload(dict(said))

    @property
    def args(self) -> dict[str, Any]:
        return self.form

    @property
    def form(self) -> dict[str, str]:
        assert self.payload is not None
        return self.payload.data


class _Document(JsonPayload):
    def __init__(self, content: Any) -> None:
        self._content = content

    @property
    def data(self) -> Any:
        return self._content


class DocumentRequest(JsonRequest):
    """A request whose body is JSON."""

    def __init__(self, uri: str, content: bytes) -> None:
        super().__init__("POST", uri)
        self.payload = _Document(json.loads(content))


class Answer(RedirectResponse):
    """A redirect whose address can still be changed: the library adds `iss` to it."""

    @property
    def location(self) -> str:
        return self.headers["location"]

    @location.setter
    def location(self, value: str) -> None:
        self.headers["location"] = value


class Engine(AuthorizationServer):
    """The library's server over records in memory. `url`: the issuer; `keys`: what it signs with now, the first of them."""

    def __init__(self, url: str, keys: Callable[[], KeySet]) -> None:
        super().__init__()
        self.url = url
        self.keys = keys
        self.people: dict[str, Member] = {}
        self.clients: dict[str, Registered] = {}
        self.codes: dict[str, Code] = {}
        self.given: list[Given] = []
        self.on_the_wire: list[str] = []
        """Every token, code, secret and verifier that ever was."""
        self.lasting = 600
        """Seconds that an access token counts."""
        self.opaque = False
        """Does it give tokens that only introspection can read?"""
        self.grants: list[str] = []
        """Each grant that was asked for at the token endpoint."""
        self.register_token_generator("default", Tokens(self))
        self.register_grant(ByCode, [CodeChallenge(required=True), cast("Any", Identity(self))])
        self.register_grant(ByRefreshing, [])
        self.register_endpoint(Introspected(self))
        self.register_endpoint(Revoked(self))
        self.register_endpoint(cast("Any", Registration(self)))
        Named(self)(self)

    def query_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    def save_token(self, token: dict[str, str | int], request: OAuth2Request) -> None:
        granted = cast("Granted", request.user)
        assert request.client is not None
        refresh = token.get("refresh_token")
        self.given.append(
            Given(
                access=str(token["access_token"]),
                refresh=None if refresh is None else str(refresh),
                client_id=request.client.get_client_id(),
                scope=str(token.get("scope", "")),
                granted=granted,
                ends_at=time.time() + self.lasting,
            )
        )
        self.on_the_wire += [str(token["access_token"]), *([str(refresh)] if refresh else [])]

    def asked_for(self, form: FormRequest, member: str | None) -> AuthorizationCodeGrant:
        """What a browser comes with, if it may be granted at all. Raises `OAuth2Error`."""
        return cast("AuthorizationCodeGrant", self.get_consent_grant(form, end_user=member))

    def decided(self, form: FormRequest, granted: Granted | None, grant: AuthorizationCodeGrant) -> Response:
        """The way back to the client. None: the person refused."""
        return cast("Response", self.create_authorization_response(form, granted, grant))

    def tokens(self, form: FormRequest) -> Response:
        """The token endpoint."""
        return cast("Response", self.create_token_response(form))

    def endpoint(self, name: str, request: FormRequest | DocumentRequest) -> Response:
        """One of those that are registered."""
        return cast("Response", self.create_endpoint_response(name, request))

    def by_token(self, token: str) -> Given | None:
        return next((one for one in self.given if token in (one.access, one.refresh)), None)

    def send_signal(self, name: Any, *args: object, **kwargs: object) -> None:
        """Nobody listens."""

    def create_oauth2_request(self, request: Any) -> OAuth2Request:
        assert isinstance(request, FormRequest)
        return request

    def create_json_request(self, request: Any) -> JsonRequest:
        assert isinstance(request, DocumentRequest)
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        said = dict(headers)
        if (location := said.pop("Location", None)) is not None:
            answer = Answer("/", status, said)
            answer.location = location
            return answer
        return JSONResponse(body, status, said) if isinstance(body, dict) else Response(body, status, said)


class Tokens(JWTBearerTokenGenerator):
    """RFC 9068: signed access tokens; or opaque ones."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.url, refresh_token_generator=self._refresh, expires_generator=self._lasting)
        self._engine = engine

    def _lasting(self, *_: Any) -> int:
        return self._engine.lasting

    def _refresh(self, **_: Any) -> str:
        return secrets.token_urlsafe(32)

    def access_token_generator(self, client: Any, grant_type: Any, user: Any, scope: Any) -> str:
        if self._engine.opaque:
            return secrets.token_urlsafe(32)
        return super().access_token_generator(client, grant_type, user, scope)

    def get_jwks(self) -> KeySet:
        return self._engine.keys()

    def get_audiences(self, client: Any, user: Granted, scope: str) -> str:
        return user.resource or client.get_client_id()

    def get_extra_claims(self, client: Any, grant_type: str, user: Granted, scope: str) -> dict[str, Any]:
        return {"nbf": int(time.time()), **user.member.claims}


class ByCode(AuthorizationCodeGrant):
    """The code that a browser carries back."""

    TOKEN_ENDPOINT_AUTH_METHODS = ("none", "client_secret_basic", "client_secret_post")
    server: Engine

    def validate_authorization_request(self) -> str:
        redirect = super().validate_authorization_request()
        payload = self.request.payload
        assert payload is not None
        if payload.data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE with S256 is required", redirect_uri=redirect)
        return redirect

    def save_authorization_code(self, code: str, request: OAuth2Request) -> None:
        assert request.payload is not None
        said = request.payload.data
        self.server.on_the_wire.append(code)
        self.server.codes[code] = Code(
            code=code,
            client_id=said["client_id"],
            redirect_uri=said["redirect_uri"],
            scope=request.scope,
            granted=cast("Granted", request.user),
            code_challenge=said.get("code_challenge"),
            code_challenge_method=said.get("code_challenge_method"),
            nonce=said.get("nonce"),
            made_at=time.time(),
        )

    def query_authorization_code(self, code: str, client: Any) -> Code | None:
        self.server.grants.append("authorization_code")
        self.server.on_the_wire.append(self.request.form.get("code_verifier", ""))
        found = self.server.codes.get(code)
        fits = found is not None and found.client_id == client.get_client_id() and time.time() - found.made_at < CODE_SECONDS
        if found is not None and self.request.form.get("resource", found.granted.resource) != found.granted.resource:
            raise InvalidTarget
        return found if fits else None

    def delete_authorization_code(self, authorization_code: Code) -> None:
        del self.server.codes[authorization_code.code]

    def authenticate_user(self, authorization_code: Code) -> Granted:
        return authorization_code.granted


class ByRefreshing(RefreshTokenGrant):
    """A refresh token, good once: one that comes twice was stolen, and takes all that came of it along (RFC 9700, 4.14)."""

    TOKEN_ENDPOINT_AUTH_METHODS = ("none", "client_secret_basic", "client_secret_post")
    INCLUDE_NEW_REFRESH_TOKEN = True
    server: Engine

    def authenticate_refresh_token(self, refresh_token: str) -> Any:
        self.server.grants.append("refresh_token")
        found = next((one for one in self.server.given if one.refresh == refresh_token), None)
        if found is None or found.revoked:
            return None
        if found.spent:
            for one in self.server.given:
                one.revoked = one.revoked or (one.client_id == found.client_id and one.granted == found.granted)
            return None
        if self.request.form.get("resource", found.granted.resource) != found.granted.resource:
            raise InvalidTarget
        return found

    def authenticate_user(self, refresh_token: Given) -> Granted:
        return refresh_token.granted

    def revoke_old_credential(self, refresh_token: Any) -> None:
        refresh_token.spent = True


class Identity(OpenIDCode):
    """ID tokens."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def exists_nonce(self, nonce: str, request: OAuth2Request) -> bool:
        return any(one.nonce == nonce for one in self._engine.codes.values())

    def resolve_client_private_key(self, client: Any) -> KeySet:
        return self._engine.keys()

    def get_client_claims(self, client: Any) -> dict[str, Any]:
        return {"iss": self._engine.url, "aud": client.get_client_id()}

    def generate_user_info(self, user: Granted, scope: str) -> UserInfo:
        return UserInfo(sub=user.member.name, **user.member.claims)


class Introspected(IntrospectionEndpoint):
    """For clients with a secret alone."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._engine = engine

    def check_permission(self, token: Any, client: Any, request: Any) -> bool:
        return True

    def query_token(self, token_string: str, token_type_hint: Any) -> Given | None:
        return self._engine.by_token(token_string)

    def introspect_token(self, token: Given) -> dict[str, Any]:
        said = {"iss": self._engine.url, "sub": token.granted.member.name, "client_id": token.client_id, "scope": token.scope}
        times = {"exp": int(token.ends_at), "iat": int(token.ends_at) - self._engine.lasting}
        return {"active": True, **said, **times, "aud": token.granted.resource or token.client_id, **token.granted.member.claims}


class Revoked(RevocationEndpoint):
    """Anybody's own tokens."""

    CLIENT_AUTH_METHODS = ("none", "client_secret_basic", "client_secret_post")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._engine = engine

    def query_token(self, token_string: str, token_type_hint: Any) -> Given | None:
        return self._engine.by_token(token_string)

    def revoke_token(self, token: Given, request: Any) -> None:
        token.revoked = True


class Registration(ClientRegistrationEndpoint):
    """RFC 7591, for whoever comes."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._engine = engine

    def authenticate_token(self, request: Any) -> str:
        return "anybody"

    def get_server_metadata(self) -> dict[str, Any]:
        return dict(metadata(self._engine.url))

    def generate_client_info(self, request: Any) -> dict[str, Any]:
        public = request.payload.data.get("token_endpoint_auth_method") == "none"
        info = super().generate_client_info(request)
        return {name: value for name, value in info.items() if not (public and name.startswith("client_secret"))}

    def save_client(self, client_info: Any, client_metadata: Any, request: Any) -> Registered:
        client = Registered(
            id=client_info["client_id"],
            redirects=client_metadata["redirect_uris"],
            secret=client_info.get("client_secret"),
            metadata=client_metadata,
        )
        self._engine.clients[client.id] = client
        if client.secret is not None:
            self._engine.on_the_wire.append(client.secret)
        return client


class Named(IssuerParameter):
    """RFC 9207: the answer says whose it is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add_issuer_parameter(self, authorization_server: Any, response: Any) -> None:
        if hasattr(response, "location"):
            super().add_issuer_parameter(authorization_server, response)

    def get_issuer(self) -> str:
        return self._engine.url


def metadata(url: str) -> Mapping[str, Any]:
    """RFC 8414, and what OpenID Connect adds."""
    ways = ["none", "client_secret_basic", "client_secret_post"]
    return {
        "issuer": url,
        "authorization_endpoint": f"{url}/authorize",
        "token_endpoint": f"{url}/token",
        "jwks_uri": f"{url}/keys",
        "registration_endpoint": f"{url}/register",
        "introspection_endpoint": f"{url}/introspect",
        "revocation_endpoint": f"{url}/revoke",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ways,
        "introspection_endpoint_auth_methods_supported": ways[1:],
        "revocation_endpoint_auth_methods_supported": ways,
        "authorization_response_iss_parameter_supported": True,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }

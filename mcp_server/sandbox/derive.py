"""From a session's own authority to the profile its commands run in. Pure, given the ground and a way to look.

Never wider than the rules: what cannot be said with places of the file system is left closed, or named in `unheld`.
A child's profile is no wider than its ancestors', because its authority holds their ceilings.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_server.policy import wildcards
from mcp_server.policy.chain import GUARD_OWNER, Authority
from mcp_server.policy.decide import decide
from mcp_server.policy.layers import heard
from mcp_server.policy.matching import pattern_for
from mcp_server.policy.values import Action, AskRef, LayerKind, Request, Rule
from mcp_server.sandbox import regions
from mcp_server.sandbox.ground import Ground
from mcp_server.sandbox.looking import Look, Names, TooMany
from mcp_server.sandbox.patterns import bare_name, closes_below, literal
from mcp_server.sandbox.profile import Limits, Place, Profile, ancestors, depth, within
from mcp_server.sandbox.regions import Closing, Said
from mcp_server.sandbox.usual import GIT_PROGRAMS, HOME_ONLY, PACKAGES, REPOSITORIES, SERVER_SECRETS


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What this very line was allowed, by a rule or a person. Lifts asks, never a deny."""

    lifted: frozenset[AskRef] = frozenset()
    """The asks that a person lifted. Where they hold all that asks before the workspace is written (`asked_before_writing`), it may be
    written; what other rules ask of a part of it stays closed."""
    written: tuple[str, ...] = ()
    """Paths that the gate let be written, protected ones too. Absolute, resolved."""
    read: tuple[str, ...] = ()
    """Paths that it let be read."""
    network: bool = False
    """It let the line use the network."""
    whole: bool = False
    """`written` is all that the line writes, so that nothing else need be open to it."""


NOTHING = Approval()
"""What a line has that was not judged."""


def asked_before_writing(authority: Authority, workspace: str) -> tuple[AskRef, ...]:
    """What a person would have to lift so that a command may write in the workspace. Empty: nothing would help, or nothing need be."""
    return regions.of_folder(authority, "edit", workspace, workspace).asks


def profile_for(
    authority: Authority,
    ground: Ground,
    *,
    look: Look,
    temporary: str,
    environment: Mapping[str, str],
    approval: Approval = NOTHING,
    limits: Limits | None = None,
) -> Profile:
    """The profile of one command, as the rules stand now. `temporary` is a folder of the session; it must exist."""
    drawing = _Drawing(authority=authority, ground=ground, approval=approval)
    workspace = drawing.said("edit", ground.workspace)
    visible = drawing.visible()
    writable = drawing.writable(workspace)
    found = _looked(drawing, look, visible, writable)
    protected = drawing.protected(writable, found)
    network, why_network = drawing.network()
    return Profile(
        workspace=ground.workspace,
        visible=visible,
        writable=writable,
        protected=protected,
        hidden=drawing.hidden((*visible, *writable), found),
        unheld=(*drawing.unheld(writable), *found.problems),
        network=network,
        why_network=why_network,
        why_read_only="" if any(place.path == ground.workspace for place in writable) else workspace.because,
        temporary=temporary,
        environment={name: text for name, text in environment.items() if name not in SERVER_SECRETS},
        limits=limits or Limits(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    paths: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What the rules say of one path."""

    action: Action
    asks: frozenset[AskRef]
    because: str

    @property
    def owners(self) -> frozenset[str]:
        """Whose asks these are; none where it is denied, as a deny is no ask."""
        return frozenset(ask.owner for ask in self.asks) if self.action is Action.ASK else frozenset({""})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """One profile being drawn."""

    authority: Authority
    ground: Ground
    approval: Approval
    heard: dict[tuple[str, str], Said] = field(default_factory=dict[tuple[str, str], Said])
    """What was found out already."""
    judged: dict[tuple[str, str], _Judged] = field(default_factory=dict[tuple[str, str], _Judged])
    """Likewise, of single paths."""

    # ---- verdicts -------------------------------------------------------------------------------

    def said(self, permission: str, folder: str) -> Said:
        found = self.heard.get((permission, folder))
        if found is None:
            found = self.heard[permission, folder] = regions.of_folder(self.authority, permission, folder, self.ground.workspace)
        return found

    def inside(self, path: str) -> bool:
        return within(path, self.ground.workspace)

    def _open(self, permission: str, folder: str) -> bool:
        """Is all of the folder open but for the closings?"""
        needed = (permission,) if self.inside(folder) else (permission, "external_directory")
        said = [self.said(each, folder) for each in needed]
        return all(each.action is Action.ALLOW or self._lifts(permission, each.asks) for each in said)

    def _lifts(self, permission: str, asks: Iterable[AskRef]) -> bool:
        """Did a person lift these with the line, when told that it may write in the workspace?"""
        told = set(self.said("edit", self.ground.workspace).asks)
        mine = set(asks)
        return permission == "edit" and bool(mine) and mine <= told <= self.approval.lifted

    def _verdict(self, permission: str, path: str) -> _Judged:
        """Of one path."""
        found = self.judged.get((permission, path))
        if found is None:
            found = self.judged[permission, path] = self._decided(permission, path)
        return found

    def _decided(self, permission: str, path: str) -> _Judged:
        value = regions.path_value(path, self.ground.workspace)
        asked = [Request(permission=permission, values=(value,))]
        if not value.inside:
            asked.append(Request(permission="external_directory", values=(value,)))
        verdict = decide(self.authority, asked)
        worst = max(verdict.parts, key=lambda part: part.action)
        rules = [(each.layer, each.rule) for each in worst.deciding if each.rule is not None]
        because = regions.in_words(rules[0][0].owner, rules[0][1]) if rules else f"no rule allows `{permission}` here"
        return _Judged(action=verdict.action, asks=frozenset(verdict.asks), because=because)

    def _writes(self, path: str) -> tuple[bool, str]:
        """May this one path be written, and if not, why?"""
        said = self._verdict("edit", path)
        if said.action is Action.ASK:
            return self._named_with("edit", path, self.approval.written) or self._lifts("edit", said.asks), said.because
        return said.action is Action.ALLOW, said.because

    def _reads(self, path: str) -> tuple[bool, str]:
        said = self._verdict("read", path)
        if said.action is Action.ASK:
            return self._named_with("read", path, self.approval.read), said.because
        return said.action is Action.ALLOW, said.because

    def _named_with(self, permission: str, path: str, approved: Sequence[str]) -> bool:
        """Was it allowed by its name, or with a folder of which nothing less is asked?"""
        return any(path == each or (within(path, each) and self._same(permission, path, each)) for each in approved)

    def _same(self, permission: str, path: str, folder: str) -> bool:
        shown = self._verdict(permission, folder).asks | self._verdict(permission, f"{folder}/{regions.NOBODY}").asks
        return self._verdict(permission, path).asks <= shown

    # ---- places ---------------------------------------------------------------------------------

    def visible(self) -> tuple[Place, ...]:
        """What programs need, the workspace, and whatever else `read` allows as a whole."""
        ground = self.ground
        if self._open("read", "/") and self._mountable("/"):
            return (Place(path="/", because=self.said("external_directory", "/").because),)
        shown = [Place(path=path, because="programs need it") for path in ground.shown]
        lent = [folder for folder in (ground.workspace, *self._named("read", "external_directory")) if self._open("read", folder)]
        shown += [Place(path=folder, because=self.said("read", folder).because) for folder in lent]
        shown += [Place(path=path, because="allowed with this line") for path in self.approval.read if self._reads(path)[0]]
        return _once(shown)

    def _mountable(self, folder: str) -> bool:
        """Whatever closes a part of the folder to reading is a place, so that nothing in it need be looked for."""
        closings = (closing for permission in ("read", "external_directory") for closing in self.said(permission, folder).closings)
        return all(literal(closing.rule) is not None for closing in closings)

    def writable(self, workspace: Said) -> tuple[Place, ...]:
        """The workspace, and folders that rules name. Those that lie in each other are told apart when all are known."""
        places: list[Place] = []
        for folder in () if self.approval.whole else (self.ground.workspace, *self._named("edit")):
            # What is mounted to be written can be read too.
            if self._open("edit", folder) and self._open("read", folder):
                because = workspace.because if folder == self.ground.workspace else self.said("edit", folder).because
                places.append(Place(path=folder, because=because))
        named = [path for path in self.approval.written if self._writes(path)[0] and self._reads(path)[0]]
        open_ones = {*named, *(place.path for place in places)}
        # What lies right in an open folder is open with it; as a mount of its own it could be neither renamed nor removed.
        places += [Place(path=path, because="allowed with this line") for path in named if os.path.dirname(path) not in open_ones]
        return _once(places)

    def _named(self, *permissions: str) -> tuple[str, ...]:
        """Folders and files that an allow, or a ruling, names without a wildcard before the end."""
        rules = [rule for layer in self.authority.layers for rule in heard(layer)]
        rules += [ruling.rule for ruling in self.authority.rulings]
        named: list[str] = []
        for rule in rules:
            if rule.action is Action.ALLOW and any(wildcards.matches(rule.permission, each) for each in permissions):
                place = literal(rule)
                if place is not None and place != "/":
                    named.append(place)
        return tuple(dict.fromkeys(named))

    def closings(self, permission: str, folders: Iterable[str]) -> tuple[Closing, ...]:
        """What closes a part of any of them."""
        every = (closing for folder in folders for closing in self.said(permission, folder).closings)
        return tuple({id(closing.rule): closing for closing in every}.values())

    def protected(self, writable: tuple[Place, ...], found: _Found) -> tuple[Place, ...]:
        """Read-only in what is writable: what rules name, there or not, and what was found."""
        roots = [place.path for place in writable]
        candidates: list[str] = []
        for root in roots:
            for closing in self.said("edit", root).closings:
                candidates += self._stands_for(closing.rule, root)
        candidates += [path for written in self.approval.written for path in _programs_of(written)]
        candidates += found.paths
        places: dict[str, Place] = {}
        for path in sorted(dict.fromkeys(candidates), key=depth):
            covered = path in self.approval.written or _covered(path, places, roots)
            if not covered and any(within(path, root) for root in roots) and (kept := self._keeps(path)) is not None:
                places[path] = kept
        return tuple(places.values())

    def _stands_for(self, rule: Rule, root: str) -> tuple[str, ...]:
        """The places of a root that a closing rule names, there or not. A mere name is kept from being made in the workspace
        itself, where programs look for it; deeper down it is kept where it is found.
        """
        place, name = literal(rule), bare_name(rule)
        if place is not None:
            return (place,)
        used = root == self.ground.workspace and (root == self.ground.home or name not in HOME_ONLY)
        return (f"{root}/{name}",) if name is not None and used else ()

    def _keeps(self, path: str) -> Place | None:
        """Whether it must be kept from writing."""
        if any(path in _programs_of(written) for written in self.approval.written):
            return Place(path=path, because="it names programs that git runs")
        for each in self._asked_of(path, "edit"):
            guarded = regions.guards(self.authority, each, self.ground.workspace)
            if guarded and _installed(each) and self._verdict("edit", each).owners <= {GUARD_OWNER}:
                continue
            if guarded and not self._named_with("edit", each, self.approval.written):
                return Place(path=path, because=guarded)
            may, because = self._writes(each)
            if not may:
                return Place(path=path, because=because)
        return None

    def _asked_of(self, path: str, permission: str) -> Iterator[str]:
        """What to ask of a path: itself, and what lies in it where a rule closes only that (`*/keep/*`)."""
        yield path
        below = f"{path}/{regions.NOBODY}"
        if any(closes_below(rule, permission, path, below) for layer in self.authority.layers for rule in heard(layer)):
            yield below

    def hidden(self, shown: tuple[Place, ...], found: _Found) -> tuple[Place, ...]:
        """Secrets, and what `read` denies or asks in what is shown: what may be written can be read too."""
        places = [Place(path=path, because="it holds secrets") for path in self.ground.secrets]
        roots = [place.path for place in shown]
        named = [path for root in roots for path in self._closed_reads(root)]
        for path in dict.fromkeys((*named, *found.paths)):
            said = (self._reads(each) for each in self._asked_of(path, "read"))
            because = next((because for may, because in said if not may), None)
            if because is not None and any(within(path, root) for root in roots):
                places.append(Place(path=path, because=because))
        named = (place for place in _once(places) if self._named_with("read", place.path, self.approval.read))
        lifted = {place.path for place in named if self._reads(place.path)[0]}
        return tuple(place for place in _once(places) if place.path not in lifted)

    def _closed_reads(self, root: str) -> list[str]:
        literals = [literal(closing.rule) for closing in self.said("read", root).closings]
        return [path for path in literals if path is not None]

    # ---- the rest -------------------------------------------------------------------------------

    def unheld(self, writable: tuple[Place, ...]) -> tuple[str, ...]:
        """Rules of people on names that a command could make anew. The guard's own are held where they matter: at the root."""
        closings = self.closings("edit", (place.path for place in writable))
        loose = (each for each in closings if each.kind is not LayerKind.GUARD and literal(each.rule) is None)
        return tuple(f"{each.words}: files that are there are kept, but new ones of such a name could be made" for each in loose)

    def network(self) -> tuple[bool, str]:
        """Wholly allowed, or approved with the line and denied nowhere."""
        said = regions.of_network(self.authority)
        if said.action is Action.ALLOW and not said.closings:
            return True, said.because
        denies = [closing for closing in said.closings if closing.rule.action is Action.DENY]
        if self.approval.network and said.action is not Action.DENY and not denies:
            return True, "approved with this line"
        return False, (denies or said.closings)[0].words if said.action is Action.ALLOW else said.because


def _looked(drawing: _Drawing, look: Look, visible: tuple[Place, ...], writable: tuple[Place, ...]) -> _Found:
    """One look through what people work in, for all patterns together. Folders of the system are not looked through."""
    shown = set(drawing.ground.shown) | {"/"}
    roots = [place.path for place in (*visible, *writable) if place.path not in shown]
    roots += [drawing.ground.workspace] if any(place.path == "/" for place in visible) else []
    tops = [root for root in dict.fromkeys(roots) if not any(root != other and within(root, other) for other in roots)]
    paths: list[str] = []
    problems: list[str] = []
    for top in tops:
        names = Names()
        within_top = [place.path for place in writable if within(place.path, top)]
        for closing in (*drawing.closings("read", (top,)), *drawing.closings("edit", within_top)):
            if literal(closing.rule) is None:
                names.add(pattern_for(closing.rule, path=True))
        try:
            paths += look(top, names) if names else ()
        except TooMany:
            problems.append(f"{top} holds too many files to find those that rules name")
    return _Found(paths=tuple(dict.fromkeys((*paths, *map(os.path.realpath, paths)))), problems=tuple(problems))


def _installed(path: str) -> bool:
    """Does it lie among installed packages, where nothing looks for such names? There may be thousands. A repository's own folder counts
    everywhere: what lies in it is run by whoever enters.
    """
    *folders, name = path.split("/")
    return name not in REPOSITORIES and not REPOSITORIES.intersection(folders) and bool(PACKAGES.intersection(folders))


def _programs_of(folder: str) -> tuple[str, ...]:
    """Of a repository, or of what belongs to a further work tree or a submodule: `HEAD` marks all of them."""
    is_git = os.path.basename(folder) == ".git" or os.path.lexists(f"{folder}/HEAD")
    return tuple(f"{folder}/{name}" for name in GIT_PROGRAMS) if is_git else ()


def _covered(path: str, places: Mapping[str, Place], roots: Sequence[str]) -> bool:
    """Does it lie in one of the places, with nothing between that is writable again?"""
    nearest = max((root for root in roots if within(path, root)), key=depth, default="/")
    return any(folder in places and within(folder, nearest) for folder in ancestors(path))


def _once(places: Iterable[Place]) -> tuple[Place, ...]:
    """The first of each path."""
    kept: dict[str, Place] = {}
    for place in places:
        kept.setdefault(place.path, place)
    return tuple(kept.values())

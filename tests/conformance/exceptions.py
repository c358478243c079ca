"""Every check of the conformance suite that a server with the one tool `run` cannot pass, with the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """The checks of one scenario that fail; the scenario's other checks must pass."""

    reason: str
    checks: frozenset[str]


def _failing(reason: str, *checks: str) -> ExpectedFailure:
    return ExpectedFailure(reason, frozenset(checks))


_FIXTURE_TOOL = "calls a tool that only the suite's own fixture server has; our one tool is run"
_NO_COMPLETION = "completes an argument of a prompt by a name without its server, which ours never have"
_NO_PROMPTS = "asks for a prompt by a name without its server, which ours never have"
_NO_TASKS = "makes tasks of tools that only the suite's own fixture server has; our one tool is run"
_NO_HEADER_PARAMETERS = "run has no parameter that is mirrored in an HTTP header"

_BOTH_REVISIONS = {
    "completion-complete": _failing(_NO_COMPLETION, "completion-complete"),
    "json-schema-2020-12": _failing(_FIXTURE_TOOL, "json-schema-2020-12-tool-found"),
    "prompts-get-embedded-resource": _failing(_NO_PROMPTS, "prompts-get-embedded-resource"),
    "prompts-get-simple": _failing(_NO_PROMPTS, "prompts-get-simple"),
    "prompts-get-with-args": _failing(_NO_PROMPTS, "prompts-get-with-args"),
    "prompts-get-with-image": _failing(_NO_PROMPTS, "prompts-get-with-image"),
    "tools-call-audio": _failing(_FIXTURE_TOOL, "tools-call-audio"),
    "tools-call-embedded-resource": _failing(_FIXTURE_TOOL, "tools-call-embedded-resource"),
    "tools-call-error": _failing(_FIXTURE_TOOL, "tools-call-error"),
    "tools-call-image": _failing(_FIXTURE_TOOL, "tools-call-image"),
    "tools-call-mixed-content": _failing(_FIXTURE_TOOL, "tools-call-mixed-content"),
    "tools-call-simple-text": _failing(_FIXTURE_TOOL, "tools-call-simple-text"),
    "tools-call-with-progress": _failing(_FIXTURE_TOOL, "tools-call-with-progress"),
}

EXPECTED_FAILURES: dict[str, dict[str, ExpectedFailure]] = {
    "2025-11-25": {
        **_BOTH_REVISIONS,
        "elicitation-sep1034-defaults": _failing(_FIXTURE_TOOL, "elicitation-sep1034-general"),
        "elicitation-sep1330-enums": _failing(_FIXTURE_TOOL, "elicitation-sep1330-general"),
        "tools-call-elicitation": _failing(_FIXTURE_TOOL, "tools-call-elicitation"),
        "tools-call-sampling": _failing(_FIXTURE_TOOL, "tools-call-sampling"),
        "tools-call-with-logging": _failing(_FIXTURE_TOOL, "tools-call-with-logging"),
    },
    "2026-07-28": {
        **_BOTH_REVISIONS,
        "http-custom-header-server-validation": _failing(
            _NO_HEADER_PARAMETERS,
            "sep-2243-server-decode-base64",
            "sep-2243-server-no-xmcp-tool",
            "sep-2243-server-reject-invalid-param-chars",
            "sep-2243-server-reject-param-mismatch",
            "sep-2243-server-validate-param-match",
        ),
        "input-required-result-basic-elicitation": _failing(_FIXTURE_TOOL, "sep-2322-elicitation-incomplete"),
        "input-required-result-basic-list-roots": _failing(_FIXTURE_TOOL, "sep-2322-list-roots-incomplete"),
        "input-required-result-basic-sampling": _failing(_FIXTURE_TOOL, "sep-2322-sampling-incomplete"),
        "input-required-result-capability-check": _failing(_FIXTURE_TOOL, "sep-2322-respect-client-capabilities"),
        "input-required-result-multi-round": _failing(_FIXTURE_TOOL, "sep-2322-multi-round-r1"),
        "input-required-result-multiple-input-requests": _failing(_FIXTURE_TOOL, "sep-2322-multiple-inputs-incomplete"),
        "input-required-result-non-tool-request": _failing(_NO_PROMPTS, "sep-2322-non-tool-incomplete"),
        "input-required-result-request-state": _failing(_FIXTURE_TOOL, "sep-2322-request-state-incomplete"),
        "input-required-result-result-type": _failing(_FIXTURE_TOOL, "sep-2322-result-type-included"),
        "input-required-result-tampered-state": _failing(_FIXTURE_TOOL, "sep-2322-reject-tampered-state"),
        "server-stateless": _failing(
            _FIXTURE_TOOL,
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-missing-capability-http-400",
            "sep-2575-server-no-log-without-loglevel",
            "sep-2575-server-rejects-undeclared-capability",
        ),
        "tasks-capability-negotiation": _failing(
            _NO_TASKS,
            "sep-2663-server-rejects-undeclared-client",
            "tasks-per-request-meta-opt-in",
        ),
        "tasks-dispatch-and-envelope": _failing(
            _NO_TASKS,
            "sep-2663-durable-create-strong-consistency",
            "sep-2663-legacy-task-param-ignored",
            "tasks-immediate-result-shortcut",
            "tasks-result-type-complete-on-non-task-responses",
            "tasks-server-directed-creation-no-hint",
        ),
        "tasks-lifecycle": _failing(
            _NO_TASKS,
            "sep-2663-cancel-ack-empty-result",
            "sep-2663-result-type-task-on-create",
            "sep-2663-tasks-get-status-completed",
            "sep-2663-tasks-get-status-failed",
            "sep-2663-tasks-get-status-working",
            "sep-2663-tool-error-uses-completed-status",
            "tasks-cancel-terminal-idempotent-ack",
            "tasks-sync-tool-call",
        ),
        "tasks-mrtr-composition": _failing(_NO_TASKS, "sep-2663-mrtr-synchronous-before-task-creation"),
        "tasks-mrtr-input": _failing(
            _NO_TASKS,
            "sep-2663-tasks-get-status-input-required",
            "tasks-mrtr-partial-fulfillment",
            "tasks-mrtr-tasks-update-resumes",
        ),
        "tasks-request-headers": _failing(
            _NO_TASKS,
            "sep-2663-routing-headers-accepted-on-tasks-get",
            "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get",
            "tasks-headers-tolerate-mcp-method-on-tools-call",
        ),
        "tasks-request-state-removal": _failing(_NO_TASKS, "tasks-request-state-removal-setup"),
        "tasks-required-task-error": _failing(_NO_TASKS, "sep-2663-server-returns-missing-capability-when-required"),
        "tasks-wire-fields": _failing(
            _NO_TASKS,
            "tasks-no-early-ttl-expiry",
            "tasks-no-related-task-meta-on-inlined-result",
            "tasks-wire-field-renames",
        ),
    },
}

PASSING: dict[str, frozenset[str]] = {
    "2025-11-25": frozenset(
        {
            "dns-rebinding-protection",
            "logging-set-level",
            "ping",
            "prompts-list",
            "resources-list",
            "resources-read-binary",
            "resources-read-text",
            "resources-subscribe",
            "resources-templates-read",
            "resources-unsubscribe",
            "server-initialize",
            "server-session-lifecycle",
            "server-sse-multiple-streams",
            "server-sse-polling",
            "tools-list",
        }
    ),
    "2026-07-28": frozenset(
        {
            "caching",
            "dns-rebinding-protection",
            "http-header-validation",
            "input-required-result-ignore-extra-params",
            "input-required-result-missing-input-response",
            "input-required-result-unsupported-methods",
            "input-required-result-validate-input",
            "prompts-list",
            "resources-list",
            "resources-read-binary",
            "resources-read-text",
            "resources-templates-read",
            "sep-2164-resource-not-found",
            "server-sse-multiple-streams",
            "tasks-status-notifications",
            "tools-list",
        }
    ),
}

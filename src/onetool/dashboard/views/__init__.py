"""The pages, and where they are."""

from __future__ import annotations

from onetool.dashboard.views import audit, live, questions, rehearsal, replicas, servers, settings, statistics, undo
from onetool.dashboard.visit import View
from ot.proxy.plan import CALLBACK

VIEWS: tuple[tuple[str, str, View], ...] = (
    ("GET", "/", live.show_live),
    ("GET", "/runs/{run}", live.show_run),
    ("POST", "/runs/{run}/stop", live.stop_run),
    ("GET", "/runs/{run}/undo", undo.show_undo),
    ("POST", "/runs/{run}/undo", undo.undo_run),
    ("POST", "/runs/{run}/answer", questions.answer_question),
    ("POST", "/runs/{run}/preview", live.preview_run),
    ("GET", "/servers", servers.list_servers),
    ("GET", "/servers/{name}", servers.show_server),
    ("POST", "/servers/{name}/connect", servers.connect),
    ("POST", "/servers/{name}/login", servers.log_in),
    ("POST", "/servers/{name}/accept", servers.accept),
    ("GET", CALLBACK, servers.finish_login),
    ("GET", "/extensions", servers.list_extensions),
    ("GET", "/extensions/{pack}", servers.show_pack),
    ("GET", "/results", live.list_results),
    ("GET", "/results/{handle}", live.show_result),
    ("GET", "/statistics", statistics.show_statistics),
    ("GET", "/errors", live.show_errors),
    ("GET", "/audit", audit.show_audit),
    ("GET", "/rules", rehearsal.show_rehearsal),
    ("POST", "/rules", rehearsal.try_rules),
    ("GET", "/settings", settings.show_settings),
    ("POST", "/settings", settings.save_settings),
    ("POST", "/settings/secrets", settings.put_secret),
    ("POST", "/settings/secrets/remove", settings.remove_secret),
    ("GET", "/people", statistics.list_people),
    ("GET", "/replicas", replicas.show_replicas),
    ("POST", "/replicas/runs/{run}/stop", replicas.stop_anybodys_run),
    ("GET", "/people/statistics", statistics.show_team_statistics),
    ("GET", "/people/audit", audit.show_team_audit),
)

"""The dashboard at `/`: runs, servers, extensions, results, statistics and errors, for whoever is logged in."""

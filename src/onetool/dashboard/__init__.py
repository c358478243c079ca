"""The dashboard at `/`: what runs, servers, extensions, results, figures and errors, for whoever is logged in."""

"""Pictures of charts and diagrams. Vega-Lite draws an empty chart where data or a field is missing, and every renderer
draws boxes for letters without a font: both are found before anything is drawn, and are errors."""

/// Begin of the HTML pages, with their style.
#pragma once

namespace ziggurat::plot {

/// Format of the text up to the heading; {0} is the title. The colours are light, or dark if the viewer
/// prefers that.
inline constexpr const char* page_head =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n"
    "<title>{0}</title>\n<style>"
    ":root{{color-scheme:light dark}}"
    "body{{font:14px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;margin:24px "
    "auto;max-width:1200px;padding:0 16px;"
    "color:#24292f;background:#ffffff}}"
    "h1{{font-size:20px}}h2{{font-size:16px;margin-top:32px}}"
    "table{{border-collapse:collapse;font-size:13px}}"
    "th,td{{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid #d8dee4;vertical-align:top}}"
    "td.number,th.number{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}"
    ".scroll{{overflow-x:auto}}svg{{display:block;width:100%;height:auto}}"
    "@media(prefers-color-scheme:dark){{body{{color:#e6edf3;background:#0d1117}}th,td{{border-color:#2b323b}}"
    "}}"
    "</style>\n</head>\n<body>\n<h1>{0}</h1>\n";

}  // namespace ziggurat::plot

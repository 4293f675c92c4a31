#include "plot/svg/svg_style.hpp"

#include <fmt/format.h>

#include <array>

namespace ziggurat::plot {
namespace {

/// Colours for light and dark backgrounds that colour-blind readers can distinguish.
/// Source: Okabe and Ito, "Color Universal Design", 2008; lighter ones for dark.
struct Colour {
    const char *light, *dark;
};
constexpr std::array<Colour, num_svg_colours> colours{{{"#0072b2", "#56b4e9"},
                                                       {"#d55e00", "#ff8c42"},
                                                       {"#009e73", "#2fd3a2"},
                                                       {"#b0559b", "#e59ccf"},
                                                       {"#a87900", "#e6b422"},
                                                       {"#4b5fc4", "#93a4ff"},
                                                       {"#7a5230", "#c79a72"},
                                                       {"#5f6b73", "#a9b4bb"}}};
/// Line patterns: the first for the first eight runs, the second for the next eight, and so on.
constexpr std::array<const char*, 4> dashes{"", "6 3", "2 3", "8 3 2 3"};

}  // namespace

std::string style_sheet(ColorScheme scheme) {
    std::string text =
        "text{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#24292f}"
        ".t{font-size:16px;font-weight:600}.p{font-weight:600}.a{fill:#57606a}"
        ".bg{fill:#ffffff}.g{stroke:#d8dee4}.f{stroke:#8c959f;fill:none}"
        ".x{fill:#cf222e}.xs{stroke:#cf222e;fill:none}.k{fill:#bc4c00}";
    for (std::size_t i = 0; i < colours.size(); ++i) {
        text +=
            fmt::format(".s{0}{{stroke:{1};fill:none}}.c{0}{{fill:{1};stroke:none}}", i, colours[i].light);
    }
    if (scheme == ColorScheme::light) {
        return text;
    }
    text +=
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.a{fill:#9198a1}.bg{fill:#0d1117}"
        ".g{stroke:#2b323b}.f{stroke:#6e7681}.x{fill:#ff7b72}.xs{stroke:#ff7b72}.k{fill:#ffa657}";
    for (std::size_t i = 0; i < colours.size(); ++i) {
        text += fmt::format(".s{0}{{stroke:{1}}}.c{0}{{fill:{1}}}", i, colours[i].dark);
    }
    return text + "}";
}

std::size_t colour_of(std::size_t number) {
    return number % colours.size();
}

std::string dash_of(std::size_t number) {
    const std::string dash = dashes[number / colours.size() % dashes.size()];
    return dash.empty() ? "" : " stroke-dasharray=\"" + dash + "\"";
}

}  // namespace ziggurat::plot

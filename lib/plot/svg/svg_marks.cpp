#include "plot/svg/svg_marks.hpp"

#include <fmt/format.h>

#include "plot/svg/svg_style.hpp"

namespace ziggurat::plot {

std::string mark_symbol(MarkKind kind, bool has_run_colour, std::size_t run, double x, double y) {
    const auto area = fmt::format("c{}", has_run_colour ? colour_of(run) : grey);
    switch (kind) {
        case MarkKind::resume:
            return "";  // mark_line() draws it
        case MarkKind::roll_back:
            return fmt::format("<path class=\"m {}\" d=\"M{:.1f} {:.1f}l8 -5v10z\"/>\n", area, x - 8, y);
        case MarkKind::spike:
            return fmt::format("<path class=\"m {}\" d=\"M{:.1f} {:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z\"/>\n",
                               has_run_colour ? area : "k", x, y - 4.5);
        case MarkKind::crash:
            return fmt::format(
                "<path class=\"m {}\" stroke-width=\"2\" d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\"/>\n",
                has_run_colour ? fmt::format("s{}", colour_of(run)) : "xs", x - 4, y - 4);
        case MarkKind::weights:
            return fmt::format("<path class=\"m {}\" d=\"M{:.1f} {:.1f}h7v7h-7z\"/>\n", area, x - 3.5,
                               y - 3.5);
    }
    return "";
}

std::string mark_line(
    MarkKind kind, bool has_run_colour, std::size_t run, double x, double top, double height) {
    const auto stroke = fmt::format("s{}", has_run_colour ? colour_of(run) : grey);
    const auto line = [&](const std::string& name, const char* dash) {
        return fmt::format(
            "<path class=\"{}\" stroke-dasharray=\"{}\" opacity=\".7\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", name,
            dash, x, top, height);
    };
    switch (kind) {
        case MarkKind::resume:
            return line(stroke, "3 3");
        case MarkKind::roll_back:
            return line(stroke, "1 3");
        case MarkKind::spike:
            return "";
        case MarkKind::crash:
            return line(has_run_colour ? stroke : "xs", "8 2");
        case MarkKind::weights:
            return line(stroke, "7 2 2 2");
    }
    return "";
}

std::string save_symbol(std::size_t colour, double x, double y) {
    return fmt::format("<path class=\"c{} save\" d=\"M{:.1f} {:.1f}h8l-4 -8z\"/>\n", colour, x - 4, y);
}

std::string alarm_symbol(double x, double y) {
    return fmt::format("<path class=\"x\" d=\"M{:.1f} {:.1f}h8l-4 7z\"/>\n", x - 4, y);
}

std::string peak_symbol(std::size_t colour, double x, double y) {
    return fmt::format("<path class=\"c{} peak\" d=\"M{:.1f} {:.1f}h8l-4 -7z\"/>\n", colour, x - 4, y + 7);
}

}  // namespace ziggurat::plot

#include "train/console/styled_text.hpp"

#include <algorithm>

namespace ziggurat::train {

void StyledText::add(std::string_view text, Style style) {
    text_ += text;
    if (!parts_.empty() && parts_.back().style == style) {
        parts_.back().end = text_.size();
    } else {
        parts_.push_back({text_.size(), style});
    }
}

void StyledText::cut(int bytes) {
    text_.resize(std::min(text_.size(), static_cast<std::size_t>(bytes)));
    for (auto& part : parts_) {
        part.end = std::min(part.end, text_.size());
    }
}

void StyledText::trim() {
    const auto last = text_.find_last_not_of(' ');
    cut(last == std::string::npos ? 0 : static_cast<int>(last) + 1);
}

void StyledText::append_to(std::string& out, bool has_colours) const {
    std::size_t begin = 0;
    for (const auto& part : parts_) {
        const bool is_coloured = has_colours && part.style != Style::plain;
        out += is_coloured ? escape_of(part.style) : "";
        out += std::string_view{text_}.substr(begin, part.end - begin);
        out += is_coloured ? escape_of(Style::plain) : "";
        begin = part.end;
    }
}

std::string_view escape_of(Style style) {
    switch (style) {
        case Style::aside:
            return "\x1b[2m";
        case Style::heading:
            return "\x1b[36m";
        case Style::caution:
            return "\x1b[33m";
        case Style::alarm:
            return "\x1b[31m";
        case Style::plain:
            break;
    }
    return "\x1b[0m";
}

}  // namespace ziggurat::train

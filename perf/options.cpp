#include "perf/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace ziggurat::perf {
namespace {

std::string quoted(std::string_view text) {
    return "'" + std::string{text} + "'";
}

template <class T>
T converted(std::string_view name, std::string_view text, const Allowed& allowed) {
    if constexpr (std::is_same_v<T, std::string>) {
        if (!allowed.words.empty() && std::ranges::count(allowed.words, text) == 0) {
            std::string words;
            for (const auto& word : allowed.words) {
                words += " " + word;
            }
            throw std::invalid_argument{std::string{name} + ": " + quoted(text) + " is none of:" + words};
        }
        return std::string{text};
    } else {
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size()) {
            throw std::invalid_argument{std::string{name} + ": " + quoted(text) +
                                        " is not a number that it takes"};
        }
        if (static_cast<double>(value) < allowed.min || static_cast<double>(value) > allowed.max) {
            throw std::invalid_argument{std::string{name} + ": " + quoted(text) + " is not between " +
                                        std::to_string(allowed.min) + " and " + std::to_string(allowed.max)};
        }
        return value;
    }
}

}  // namespace

Allowed one_of(std::vector<std::string> words) {
    Allowed allowed;
    allowed.words = std::move(words);
    return allowed;
}

Allowed between(double min, double max) {
    Allowed allowed;
    allowed.min = min;
    allowed.max = max;
    return allowed;
}

template <class T>
void Options::add_value(std::string name, T& target, Allowed allowed, std::string doc) {
    const auto set = [name, &target, allowed = std::move(allowed)](std::string_view text) {
        target = converted<T>(name, text, allowed);
    };
    options_.push_back({std::move(name), std::move(doc), false, set});
}

template <class T>
void Options::add_list(std::string name, std::vector<T>& target, Allowed allowed, std::string doc) {
    const auto set = [name, &target, allowed = std::move(allowed)](std::string_view text) {
        std::vector<T> values;
        for (std::size_t at = 0; at <= text.size();) {
            const std::size_t comma = std::min(text.find(',', at), text.size());
            values.push_back(converted<T>(name, text.substr(at, comma - at), allowed));
            at = comma + 1;
        }
        target = std::move(values);
    };
    options_.push_back({std::move(name), std::move(doc), false, set});
}

void Options::add(std::string name, int& target, Allowed allowed, std::string doc) {
    add_value(std::move(name), target, std::move(allowed), std::move(doc));
}
void Options::add(std::string name, std::int64_t& target, Allowed allowed, std::string doc) {
    add_value(std::move(name), target, std::move(allowed), std::move(doc));
}
void Options::add(std::string name, double& target, Allowed allowed, std::string doc) {
    add_value(std::move(name), target, std::move(allowed), std::move(doc));
}
void Options::add(std::string name, std::string& target, Allowed allowed, std::string doc) {
    add_value(std::move(name), target, std::move(allowed), std::move(doc));
}
void Options::add(std::string name, std::vector<int>& target, Allowed allowed, std::string doc) {
    add_list(std::move(name), target, std::move(allowed), std::move(doc));
}
void Options::add(std::string name, std::vector<std::int64_t>& target, Allowed allowed, std::string doc) {
    add_list(std::move(name), target, std::move(allowed), std::move(doc));
}
void Options::add(std::string name, std::vector<std::string>& target, Allowed allowed, std::string doc) {
    add_list(std::move(name), target, std::move(allowed), std::move(doc));
}

void Options::add_flag(std::string name, bool& target, std::string doc) {
    options_.push_back(
        {std::move(name), std::move(doc), true, [&target](std::string_view /*none*/) { target = true; }});
}

const Options::Option& Options::find(std::string_view name) const {
    const auto found = std::ranges::find(options_, name, &Option::name);
    if (found == options_.end()) {
        throw std::invalid_argument{quoted(name) + " is no option. See --help"};
    }
    return *found;
}

void Options::read(std::span<const std::string_view> arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::size_t equals = std::min(arguments[i].find('='), arguments[i].size());
        const Option& option = find(arguments[i].substr(0, equals));
        const bool has_value = equals < arguments[i].size();
        if (option.is_flag) {
            if (has_value) {
                throw std::invalid_argument{option.name + " takes no value"};
            }
            option.set({});
        } else if (has_value) {
            option.set(arguments[i].substr(equals + 1));
        } else if (i + 1 < arguments.size()) {
            option.set(arguments[++i]);
        } else {
            throw std::invalid_argument{option.name + " takes a value"};
        }
    }
}

void Options::read_or_exit(int argc, char** argv) const {
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    if (std::ranges::count(arguments, "--help") > 0) {
        std::fputs(help().c_str(), stdout);
        std::exit(0);
    }
    try {
        read(arguments);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        std::exit(2);
    }
}

std::string Options::help() const {
    std::string text = summary_ + "\n";
    for (const auto& option : options_) {
        text += "  " + option.name + (option.doc.empty() ? "" : "   " + option.doc) + "\n";
    }
    return text;
}

}  // namespace ziggurat::perf

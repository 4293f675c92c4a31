#include "deck/load.hpp"

#include "deck/effective.hpp"
#include "deck/machine.hpp"
#include "deck/measured_machine.hpp"
#include "deck/not_built.hpp"
#include "deck/reader.hpp"
#include "deck/resolve.hpp"
#include "deck/rules.hpp"

namespace ziggurat::deck {

Loaded load(const std::string& path, const std::vector<std::string>& overrides, const LoadOptions& options) {
    Loaded loaded;
    const auto text = read_file(path, "deck", {path, 0, 0}, loaded.found);
    return text ? load_text(*text, path, overrides, options) : std::move(loaded);
}

Loaded load_text(const std::string& text,
                 const std::string& name,
                 const std::vector<std::string>& overrides,
                 const LoadOptions& options) {
    Loaded loaded;
    const Schema& schema = deck_schema();
    auto root = compose(schema, text, name, loaded.found);
    if (!root) {
        return loaded;
    }
    apply_overrides(schema, *root, overrides, loaded.found);
    substitute_variables(*root, options.environment, loaded.found);

    Values values = read_values(schema, *root, loaded.found);
    loaded.machine = options.machine ? *options.machine : this_machine();
    if (!options.machine && !options.as_record) {
        add_measured(measured_file(options.environment), loaded.machine, loaded.found);
    }
    Resolution resolution{values, loaded.run, options, loaded.machine, loaded.found};
    resolve(resolution);
    if (!options.as_record) {
        judge(resolution);
        refuse_not_built(resolution);
    }
    if (loaded.ok()) {
        settle_open_homes(resolution);
        loaded.depths = settle_depths(resolution);
        loaded.effective = effective_deck(schema, values);
    }
    return loaded;
}

}  // namespace ziggurat::deck

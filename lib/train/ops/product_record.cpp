#include "train/ops/product_record.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"

namespace ziggurat::train {

using nlohmann::json;

std::string to_json(const ProductRecord& record) {
    return json(record).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

ProductRecord parse_product_record(const std::string& text, const std::string& path) {
    try {
        return json::parse(text).get<ProductRecord>();
    } catch (const json::exception& error) {
        throw Error{
            ErrorKind::deck,
            fmt::format("{} is damaged ({}). It has the algorithms of matrix products that this run uses. "
                        "Restore it from a copy, or remove it: they are then measured again, and later "
                        "steps may round differently.",
                        printable(path), printable(error.what()))};
    }
}

ProductRecord agree_on_products(const comm::Context& world,
                                kernels::ProductTuner* tuner,
                                const ProductRecord& known) {
    ProductRecord mine;
    if (tuner != nullptr) {
        mine[tuner->library()] = tuner->choices();
    }
    ProductRecord all;
    for (const auto& text : comm::gather(world, to_json(mine))) {
        for (const auto& [library, choices] : json::parse(text).get<ProductRecord>()) {
            all[library].insert(choices.begin(), choices.end());
        }
    }
    // Only then those of `known`: a rank does not use a number that its library does not have.
    for (const auto& [library, choices] : known) {
        all[library].insert(choices.begin(), choices.end());
    }
    all = json::parse(comm::broadcast(world, to_json(all))).get<ProductRecord>();
    if (tuner != nullptr) {
        tuner->choose(all[tuner->library()]);
    }
    return all;
}

}  // namespace ziggurat::train

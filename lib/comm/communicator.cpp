#include "comm/communicator.hpp"

#include "base/contract.hpp"
#include "comm/check_mpi.hpp"

namespace ziggurat::comm {
namespace {

MPI_Comm duplicate_of(MPI_Comm parent) {
    MPI_Comm copy = MPI_COMM_NULL;
    ZG_MPI(MPI_Comm_dup(parent, &copy));
    return copy;
}

struct MpiGroupTraits {
    using Handle = MPI_Group;
    static Handle null() noexcept { return MPI_GROUP_NULL; }
    static void close(Handle group) noexcept { MPI_Group_free(&group); }
};

UniqueHandle<MpiGroupTraits> group_of(MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL;
    ZG_MPI(MPI_Comm_group(comm, &group));
    return UniqueHandle<MpiGroupTraits>{group};
}

}  // namespace

void MpiCommTraits::close(Handle comm) noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) {
        MPI_Comm_free(&comm);
    }
}

Communicator::Communicator(MPI_Comm parent) : Communicator{duplicate_of(parent), Adopt{}} {}

Communicator::Communicator(MPI_Comm owned, Adopt) : handle_{owned} {
    ZG_MPI(MPI_Comm_set_errhandler(owned, MPI_ERRORS_RETURN));
    ZG_MPI(MPI_Comm_rank(owned, &rank_));
    ZG_MPI(MPI_Comm_size(owned, &size_));
}

Communicator Communicator::duplicate() const {
    return Communicator{native()};
}

Communicator Communicator::split(int color, int key) const {
    ZG_EXPECTS(color >= 0);
    MPI_Comm part = MPI_COMM_NULL;
    ZG_MPI(MPI_Comm_split(native(), color, key, &part));
    return {part, Adopt{}};
}

Communicator Communicator::subset(std::span<const int> members) const {
    const auto ours = group_of(native());
    MPI_Group listed = MPI_GROUP_NULL;
    ZG_MPI(MPI_Group_incl(ours.get(), static_cast<int>(members.size()), members.data(), &listed));
    const UniqueHandle<MpiGroupTraits> group{listed};
    MPI_Comm part = MPI_COMM_NULL;
    constexpr int tag = 0;  // safe: MPI orders concurrent calls between two ranks
    ZG_MPI(MPI_Comm_create_group(native(), group.get(), tag, &part));
    ZG_ENSURES(part != MPI_COMM_NULL);
    return {part, Adopt{}};
}

}  // namespace ziggurat::comm

// Paged table of node briefs, and the words for a node.
#include "report/node_table.h"

#include <algorithm>

#include "report/io_uring_opcode.h"
#include "report/number.h"

namespace cprof {
namespace {

// The vector of pages has an entry for each kPageNodes ids that ever were: 8 bytes for 1024 nodes.
constexpr size_t kMaxPages = (uint64_t{1} << 32) / 1024;

void Fill(const Node& node, NodeBrief* brief) {
  brief->label = LabelOf(node);
  brief->name_index = 0;
  brief->tid = node.attributes.thread.tid;
  brief->tgid = node.kind == NodeKind::kThread ? node.attributes.thread.tgid : node.attributes.tgid;
  brief->generation = node.generation;
}

std::string_view KindWord(NodeKind kind) {
  switch (kind) {
    case NodeKind::kIoRequest: return "io";
    case NodeKind::kRuntimeTask: return "task";
    case NodeKind::kWorkItem: return "work item";
    case NodeKind::kBlockRequest: return "block request";
    default: return NodeKindName(kind);
  }
}

}  // namespace

Label LabelOf(const Node& node) {
  Label label;
  label.kind = node.kind;
  label.known = true;
  switch (node.kind) {
    case NodeKind::kThread: label.comm = node.attributes.comm; break;
    case NodeKind::kIoRequest:
      // The opcode is known from the submit.
      label.opcode = node.birth_seen ? node.attributes.opcode : kIoUringOpcodeUnknown;
      break;
    default:
      label.name = node.attributes.name;
      label.domain = node.attributes.domain;
      if (label.name == 0 &&
          (node.kind == NodeKind::kRequest || node.kind == NodeKind::kRuntimeTask)) {
        label.begin_seen = node.birth_seen;
      }
  }
  if (node.kind == NodeKind::kResource && label.name == 0) label.id = node.key.lo;
  return label;
}

void AppendLabelName(const Label& label, const StringTable& strings, std::string* out) {
  if (!label.known) {
    *out += "[not known]";
    return;
  }
  if (label.kind == NodeKind::kIoRequest) {
    AppendIoUringOpcode(label.opcode, out);
    return;
  }
  if (label.kind == NodeKind::kThread) {
    const std::string_view comm(label.comm.data(), label.comm.size());
    *out += comm.front() == '\0' ? "[unnamed]" : comm.substr(0, comm.find('\0'));
    return;
  }
  const std::string_view domain = strings.Get(label.domain);
  const std::string_view name = strings.Get(label.name);
  if (!domain.empty()) {
    *out += domain;
    *out += '/';
  }
  if (!name.empty()) {
    *out += name;
  } else if (label.kind == NodeKind::kResource) {
    AppendHexNumber(label.id, out);
  } else if (label.kind == NodeKind::kRequest || label.kind == NodeKind::kRuntimeTask) {
    *out += label.begin_seen ? "[unnamed]" : "[begin not seen]";
  }
}

void AppendLabel(const Label& label, const StringTable& strings, std::string* out) {
  if (label.known) {
    *out += KindWord(label.kind);
    const size_t size = out->size();
    *out += ' ';
    AppendLabelName(label, strings, out);
    if (out->size() == size + 1) out->pop_back();  // kinds that have no names
    return;
  }
  AppendLabelName(label, strings, out);
}

void NodeTable::Add(const Node& node) {
  if (node.id == 0) return;
  const size_t index = node.id / kPageNodes;
  if (index >= kMaxPages) return;
  if (index >= pages_.size()) pages_.resize(index + 1);
  if (!pages_[index]) {
    if (free_pages_.empty()) {
      pages_[index] = std::make_unique<Page>();
    } else {
      pages_[index] = std::move(free_pages_.back());
      free_pages_.pop_back();
    }
    // The page before is full now; its nodes may be dead already.
    if (index > 0 && pages_[index - 1] && pages_[index - 1]->alive == 0) QueueDead(index - 1);
  }
  Page& page = *pages_[index];
  const size_t slot = node.id % kPageNodes;
  if (!page.told[slot]) {
    page.told[slot] = true;
    ++page.alive;
  }
  Fill(node, &page.nodes[slot]);
}

void NodeTable::End(const Node& node) {
  NodeBrief* brief = Find(node.id);
  if (brief == nullptr) {
    Add(node);
    brief = Find(node.id);
    if (brief == nullptr) return;
  }
  Fill(node, brief);
  if (brief->dead) return;
  brief->dead = true;
  const size_t index = node.id / kPageNodes;
  Page& page = *pages_[index];
  page.last_death_ns = std::max(page.last_death_ns, node.died_ns);
  // A page still being filled has not died out yet.
  if (--page.alive == 0 && index + 1 < pages_.size()) QueueDead(index);
}

void NodeTable::QueueDead(size_t index) {
  if (pages_[index]->queued) return;
  pages_[index]->queued = true;
  dead_pages_.push_back(index);
}

void NodeTable::Rename(NodeId thread, const std::array<char, 16>& comm) {
  NodeBrief* brief = Find(thread);
  if (brief != nullptr && brief->label.kind == NodeKind::kThread) {
    brief->label.comm = comm;
    brief->name_index = 0;
  }
}

NodeBrief* NodeTable::Find(NodeId id) {
  const size_t index = id / kPageNodes;
  if (id == 0 || index >= pages_.size() || !pages_[index]) return nullptr;
  const size_t slot = id % kPageNodes;
  return pages_[index]->told[slot] ? &pages_[index]->nodes[slot] : nullptr;
}

const NodeBrief* NodeTable::Find(NodeId id) const { return const_cast<NodeTable*>(this)->Find(id); }

Label NodeTable::LabelOf(NodeId id) const {
  const NodeBrief* brief = Find(id);
  return brief == nullptr ? Label{} : brief->label;
}

void NodeTable::Forget(uint64_t time_ns) {
  while (!dead_pages_.empty()) {
    const size_t index = dead_pages_.front();
    if (pages_[index]->last_death_ns >= time_ns && dead_pages_.size() <= kMaxDeadPages) break;
    // A page may have come to life again by an id told late.
    if (pages_[index]->alive == 0) {
      *pages_[index] = Page{};
      free_pages_.push_back(std::move(pages_[index]));
    } else {
      pages_[index]->queued = false;
    }
    dead_pages_.pop_front();
  }
}

}  // namespace cprof

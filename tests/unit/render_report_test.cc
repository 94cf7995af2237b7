// Reports from hand-built graphs: tables, causes, what is flagged, and each format.
#include "report/render_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "format/writer.h"

namespace cprof {
namespace {

constexpr uint64_t kT0 = 1'000'000'000;
constexpr uint64_t kMs = 1'000'000;

// Tells a sink a small graph: requests with states, resources, io, threads.
class Teller {
 public:
  Teller(ReportSink& sink, StringTable& strings) : sink_(sink), strings_(strings) {
    SessionHeader header;
    header.t0_ns = kT0;
    header.cpu_count = 2;
    header.target_tgids = {41};
    sink_.OnHeader(header);
  }

  NodeId AddRequest(uint64_t id, const char* name, uint64_t begin_ns) {
    Node node = MakeNode(NodeKind::kRequest, begin_ns);
    node.key.lo = id;
    node.attributes.name = strings_.Intern(name);
    node.attributes.domain = strings_.Intern("cache");
    return Tell(node);
  }
  // One whose begin the recording does not hold.
  NodeId AddLateRequest(uint64_t id, uint64_t seen_ns) {
    Node node = MakeNode(NodeKind::kRequest, seen_ns);
    node.key.lo = id;
    node.birth_seen = false;
    node.attributes.domain = strings_.Intern("cache");
    return Tell(node);
  }
  NodeId AddResource(const char* name, uint64_t id = 0) {
    Node node = MakeNode(NodeKind::kResource, kT0);
    node.key.lo = id;
    node.attributes.name = strings_.Intern(name);
    node.attributes.domain = strings_.Intern("shard");
    return Tell(node);
  }
  NodeId AddThread(const char* comm, uint32_t tid) {
    Node node = MakeNode(NodeKind::kThread, kT0);
    node.attributes.thread = {kT0, tid, 41};
    for (size_t i = 0; comm[i] != '\0'; ++i) node.attributes.comm[i] = comm[i];
    return Tell(node);
  }
  NodeId AddIo(uint8_t opcode, uint64_t begin_ns) {
    Node node = MakeNode(NodeKind::kIoRequest, begin_ns);
    node.attributes.opcode = opcode;
    return Tell(node);
  }
  void EndIo(NodeId id, uint8_t opcode, uint64_t begin_ns, uint64_t end_ns, int32_t result) {
    Node node = MakeNode(NodeKind::kIoRequest, begin_ns);
    node.id = id;
    node.attributes.opcode = opcode;
    node.attributes.has_result = true;
    node.attributes.result = result;
    node.died_ns = end_ns;
    node.end = NodeEnd::kObserved;
    sink_.OnNodeEnd(node);
  }
  EdgeId AddEdge(EdgeType type, NodeId src, NodeId dst, uint64_t time_ns) {
    Edge edge;
    edge.id = ++last_edge_;
    edge.type = type;
    edge.src = src;
    edge.dst = dst;
    edge.src_time_ns = edge.dst_time_ns = time_ns;
    sink_.OnEdge(edge);
    return edge.id;
  }
  void AddState(NodeId request, WallState state, uint64_t from_ns, uint64_t to_ns, NodeId strand,
                EdgeId edge = 0, NodeId cause = 0) {
    StateSpan span;
    span.request = request;
    span.state = state;
    span.from_ns = from_ns;
    span.to_ns = to_ns;
    span.node = strand;
    span.edge = edge;
    span.cause = cause;
    sink_.OnState(span);
  }
  void End(NodeId request, uint64_t begin_ns, uint64_t end_ns, bool ended = true) {
    RequestEnd end;
    end.request = request;
    end.ended = ended;
    end.begin_ns = begin_ns;
    end.end_ns = end_ns;
    sink_.OnRequestEnd(end);
  }

  void AddSlice(NodeId thread, ThreadState state, uint64_t duration_ns, ThreadSlice::Wait wait) {
    ThreadSlice slice;
    slice.thread = thread;
    slice.state = state;
    slice.from_ns = kT0;
    slice.to_ns = kT0 + duration_ns;
    slice.wait = wait;
    sink_.OnThreadSlice(slice);
  }
  void AddRuntime(NodeId thread, uint64_t runtime_ns) {
    sink_.OnThreadRuntime(thread, kT0, runtime_ns);
  }
  void AddOwner(NodeId node, NodeId request) {
    Owner owner;
    owner.node = node;
    owner.requests = {request};
    sink_.OnOwner(owner);
  }
  void AddHook(const char* name, const char* value) {
    SessionHeader header;
    header.t0_ns = kT0;
    header.attributes[name] = value;
    sink_.OnHeader(header);
  }
  void AddLoss(uint64_t total, uint64_t from_ns, uint64_t to_ns) {
    sink_.OnStream({});
    Break lost;
    lost.from_ns = from_ns;
    lost.to_ns = to_ns;
    lost.total = total;
    sink_.OnBreak(1, lost);
  }

 private:
  static Node MakeNode(NodeKind kind, uint64_t born_ns) {
    Node node;
    node.kind = kind;
    node.born_ns = born_ns;
    node.birth_seen = true;
    node.attributes.tgid = 41;
    return node;
  }
  NodeId Tell(Node& node) {
    node.id = ++last_node_;
    sink_.OnNode(node);
    return node.id;
  }

  ReportSink& sink_;
  StringTable& strings_;
  NodeId last_node_ = 0;
  EdgeId last_edge_ = 0;
};

// One slow request that holds a shard during a read, and three that queue behind it.
void TellContention(Teller& tell) {
  const NodeId loop = tell.AddThread("loop", 41);
  const NodeId worker = tell.AddThread("worker", 42);
  const NodeId shard = tell.AddResource("shard-3");
  const NodeId cold = tell.AddRequest(7, "GET-cold", kT0);
  const NodeId io = tell.AddIo(22, kT0 + kMs);
  const EdgeId read = tell.AddEdge(EdgeType::kComplete, io, loop, kT0 + 50 * kMs);
  tell.EndIo(io, 22, kT0 + kMs, kT0 + 50 * kMs, 4096);
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t begin_ns = kT0 + (10 + i) * kMs;
    const NodeId hot = tell.AddRequest(100 + i, "GET", begin_ns);
    const EdgeId got = tell.AddEdge(EdgeType::kAcquire, shard, hot, kT0 + 51 * kMs);
    tell.AddState(hot, WallState::kResource, begin_ns, kT0 + 51 * kMs, worker, got, cold);
    tell.AddState(hot, WallState::kRunning, kT0 + 51 * kMs, kT0 + 52 * kMs, worker);
    tell.End(hot, begin_ns, kT0 + 52 * kMs);
  }
  tell.AddState(cold, WallState::kRunning, kT0, kT0 + kMs, loop);
  tell.AddState(cold, WallState::kIo, kT0 + kMs, kT0 + 50 * kMs, loop, read);
  tell.AddState(cold, WallState::kRunning, kT0 + 50 * kMs, kT0 + 53 * kMs, loop);
  tell.End(cold, kT0, kT0 + 53 * kMs);
}

class RenderReport : public testing::Test {
 protected:
  std::string Render(const ReportOptions& options, void (*story)(Teller&)) {
    std::string text;
    const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
    TextOutput out(*sink);
    const auto renderer = MakeReportRenderer(options, strings_, out);
    Teller tell(*renderer, strings_);
    story(tell);
    ReadSummary read;
    read.clean_end = true;
    found_ = renderer->Finish(read);
    EXPECT_TRUE(out.Finish());
    return text;
  }

  StringTable strings_;
  bool found_ = false;
};

TEST_F(RenderReport, HolderOfAContendedResourceIsNamedWithWhatItDid) {
  const std::string text = Render({}, &TellContention);
  EXPECT_NE(text.find("   120.000   68.2 %      3  41.000  resource  cache/GET       resource "
                      "shard/shard-3, held by request cache/GET-cold while it waited for io READ "
                      "(98 %), was running (3 %)\n"),
            std::string::npos)
      << text;
}

TEST_F(RenderReport, QueueBehindAHolderIsChargedToWhoHeldNotToWhoQueuedBefore) {
  ReportOptions options;
  options.format = ReportFormat::kJson;
  const std::string text = Render(options, [](Teller& tell) {
    const NodeId shard = tell.AddResource("s");
    const NodeId cold = tell.AddRequest(1, "COLD", kT0);
    const NodeId first = tell.AddRequest(2, "HOT", kT0);
    const NodeId second = tell.AddRequest(3, "HOT", kT0);
    const EdgeId got_first = tell.AddEdge(EdgeType::kAcquire, shard, first, kT0 + 10 * kMs);
    const EdgeId got_second = tell.AddEdge(EdgeType::kAcquire, shard, second, kT0 + 11 * kMs);
    // The last in the queue ends first; it was released by the one before it.
    tell.AddState(second, WallState::kResource, kT0, kT0 + 11 * kMs, 0, got_second, first);
    tell.End(second, kT0, kT0 + 11 * kMs);
    tell.AddState(cold, WallState::kIo, kT0, kT0 + 10 * kMs, 0);
    tell.End(cold, kT0, kT0 + 10 * kMs);
    tell.AddState(first, WallState::kResource, kT0, kT0 + 10 * kMs, 0, got_first, cold);
    tell.AddState(first, WallState::kRunning, kT0 + 10 * kMs, kT0 + 12 * kMs, 0);
    tell.End(first, kT0, kT0 + 12 * kMs);
  });
  EXPECT_NE(text.find("\"total_ns\":20000000,\"share_ns\":20000000,\"waits\":2,"
                      "\"max_ns\":10000000,\"state\":\"resource\",\"request\":\"cache/HOT\","
                      "\"cause\":\"resource shard/s, held by request cache/COLD while it waited "
                      "for io\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\"cause\":\"resource shard/s, held by request cache/HOT while it was "
                      "running\""),
            std::string::npos);
}

// Two requests that wait for a resource without a name each, both held by one.
void TellTwoResources(Teller& tell) {
  const NodeId holder = tell.AddRequest(9, "COLD", kT0);
  for (uint64_t i = 1; i <= 2; ++i) {
    const NodeId shard = tell.AddResource("", 0x10 + i);
    const NodeId hot = tell.AddRequest(i, "HOT", kT0);
    const EdgeId got = tell.AddEdge(EdgeType::kAcquire, shard, hot, kT0 + 4 * i * kMs);
    tell.AddState(hot, WallState::kResource, kT0, kT0 + 4 * i * kMs, 0, got, holder);
    tell.End(hot, kT0, kT0 + 4 * i * kMs);
  }
  tell.AddState(holder, WallState::kRunning, kT0, kT0 + kMs, 0);
  tell.AddState(holder, WallState::kIo, kT0 + kMs, kT0 + 8 * kMs, 0);
  tell.End(holder, kT0, kT0 + 8 * kMs);
}

TEST_F(RenderReport, ResourcesWithoutANameAreToldApartByTheirId) {
  ReportOptions options;
  options.format = ReportFormat::kJson;
  const std::string text = Render(options, &TellTwoResources);
  EXPECT_NE(text.find("resource shard/0x11, held by request cache/COLD"), std::string::npos)
      << text;
  EXPECT_NE(text.find("resource shard/0x12, held by request cache/COLD"), std::string::npos);
}

TEST_F(RenderReport, TextFoldsResourcesOfADomainAndWhatTheirHolderDid) {
  const std::string text = Render({}, &TellTwoResources);
  EXPECT_NE(
      text.find("    12.000   60.0 %      2   8.000  resource  cache/HOT   one of 2 resources "
                "shard, held by request cache/COLD while it waited for io (83 %), was "
                "running (17 %)\n"),
      std::string::npos)
      << text;
}

TEST_F(RenderReport, HeadSaysWhoKeptOthersWaitingTheLongest) {
  EXPECT_NE(Render({}, &TellTwoResources)
                .find("# held up    : 60.0 % of the wall time of requests is waiting for one of 2 "
                      "resources shard, held by request cache/COLD while it waited for io (83 %), "
                      "was running (17 %); 2 waits, the longest 8.000 ms\n"),
            std::string::npos);
  const std::string text = Render({}, [](Teller& tell) {
    const NodeId request = tell.AddRequest(1, "GET", kT0);
    tell.AddState(request, WallState::kRunning, kT0, kT0 + kMs, 0);
    tell.End(request, kT0, kT0 + kMs);
  });
  EXPECT_EQ(text.find("held up"), std::string::npos) << text;
}

TEST_F(RenderReport, KindsAreSortedByWallAndStatesAddUp) {
  ReportOptions options;
  options.format = ReportFormat::kCsv;
  const std::string text = Render(options, &TellContention);
  EXPECT_EQ(text,
            "request,count,p50_ns,p99_ns,max_ns,cpu_ns,wall_ns,running_ns,runnable_ns,"
            "runtime_queued_ns,kernel_work_ns,queued_ns,io_ns,timer_ns,lock_ns,resource_ns,"
            "remote_ns,blocked_ns,in_child_ns,unknown_ns,never_ended,begun_before\n"
            "cache/GET,3,41000000,42000000,42000000,0,123000000,3000000,0,0,0,0,0,0,0,120000000,0,"
            "0,0,0,0,0\n"
            "cache/GET-cold,1,53000000,53000000,53000000,0,53000000,4000000,0,0,0,0,49000000,0,0,0,"
            "0,0,0,0,0,0\n");
}

TEST_F(RenderReport, NeverEndedRequestIsFlaggedAndInNoQuantile) {
  ReportOptions options;
  options.format = ReportFormat::kCsv;
  const auto story = [](Teller& tell) {
    const NodeId done = tell.AddRequest(1, "GET", kT0);
    tell.AddState(done, WallState::kRunning, kT0, kT0 + kMs, 0);
    tell.End(done, kT0, kT0 + kMs);
    const NodeId open = tell.AddRequest(2, "GET", kT0);
    tell.AddState(open, WallState::kUnknown, kT0, kT0 + 900 * kMs, 0);
    tell.End(open, kT0, kT0 + 900 * kMs, false);
  };
  EXPECT_NE(Render(options, story).find("cache/GET,1,1000000,1000000,1000000,0,1000000,1000000,"),
            std::string::npos);
  options.format = ReportFormat::kText;
  const std::string text = Render(options, story);
  EXPECT_NE(text.find("          1             0   900.000  0.000  0x2  cache/GET\n"),
            std::string::npos)
      << text;
}

TEST_F(RenderReport, RequestsSeenInPartAreARowForEachKind) {
  const auto story = [](Teller& tell) {
    for (uint64_t i = 0; i < 40; ++i) {
      const NodeId open = tell.AddRequest(i, i == 0 ? "PUT" : "GET", kT0);
      tell.End(open, kT0, kT0 + (i + 1) * kMs, false);
    }
  };
  const std::string text = Render({}, story);
  EXPECT_NE(text.find("         39             0    40.000  0.000  0x27  cache/GET\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("# No request was seen from its begin to its end."), std::string::npos);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 12);
}

TEST_F(RenderReport, RequestWhoseBeginWasNotSeenSaysSo) {
  const std::string text = Render({}, [](Teller& tell) {
    const NodeId request = tell.AddLateRequest(7, kT0);
    tell.End(request, kT0, kT0 + kMs, false);
  });
  EXPECT_NE(text.find("0x7  cache/[begin not seen]"), std::string::npos) << text;
}

TEST_F(RenderReport, TimeThatNoSpanTellsIsUnknown) {
  ReportOptions options;
  options.format = ReportFormat::kJson;
  const std::string text = Render(options, [](Teller& tell) {
    const NodeId request = tell.AddRequest(1, "GET", kT0);
    tell.AddState(request, WallState::kRunning, kT0, kT0 + kMs, 0);
    tell.End(request, kT0, kT0 + 4 * kMs);
  });
  EXPECT_NE(text.find("\"wall_ns\":4000000,\"unknown_ns\":3000000"), std::string::npos) << text;
  EXPECT_NE(text.find("\"in_child_ns\":0,\"unknown_ns\":3000000,\"never_ended\":0"),
            std::string::npos);
}

TEST_F(RenderReport, KindsBeyondTheBoundAreOther) {
  ReportOptions options;
  options.format = ReportFormat::kCsv;
  const std::string text = Render(options, [](Teller& tell) {
    for (uint64_t i = 0; i < 1500; ++i) {
      const NodeId request = tell.AddRequest(i, ("R" + std::to_string(i)).c_str(), kT0);
      tell.End(request, kT0, kT0 + kMs);
    }
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 1024 + 1);
  EXPECT_NE(text.find("[other],476,"), std::string::npos);
}

TEST_F(RenderReport, PathOfOneRequestHasItsWaitsWithTheirCauses) {
  ReportOptions options;
  options.request = "0x65";
  const std::string text = Render(options, &TellContention);
  EXPECT_TRUE(found_);
  EXPECT_NE(text.find("request cache/GET id 0x65 (101), generation 1"), std::string::npos) << text;
  EXPECT_NE(text.find("   0.000   40.000  resource  thread worker  worker/42  acquire 3  observed  "
                      "  resource shard/shard-3, held by request cache/GET-cold while it waited "
                      "for io READ (98 %)"),
            std::string::npos)
      << text;
}

TEST_F(RenderReport, PathFoldsRepetitionsInTextOnly) {
  const auto story = [](Teller& tell) {
    const NodeId thread = tell.AddThread("loop", 41);
    const NodeId request = tell.AddRequest(5, "GET", kT0);
    for (uint64_t i = 0; i < 24; ++i) {
      const uint64_t from_ns = kT0 + 4 * i * kMs;
      tell.AddState(request, WallState::kRunning, from_ns, from_ns + kMs, thread);
      tell.AddState(request, WallState::kIo, from_ns + kMs, from_ns + 4 * kMs, thread);
    }
    tell.End(request, kT0, kT0 + 96 * kMs);
  };
  ReportOptions options;
  options.request = "5";
  const std::string text = Render(options, story);
  EXPECT_NE(text.find("  0.000   24.000  24 x   running  thread loop  loop/41"), std::string::npos)
      << text;
  EXPECT_NE(text.find("      -   72.000    |    io       thread loop  loop/41"), std::string::npos)
      << text;
  options.format = ReportFormat::kCsv;
  const std::string csv = Render(options, story);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 49);
}

TEST_F(RenderReport, SlowestIsFoundOverallAndByName) {
  ReportOptions options;
  options.request = "slowest";
  EXPECT_NE(Render(options, &TellContention).find("cache/GET-cold id 0x7"), std::string::npos);
  options.request = "cache/GET:slowest";
  EXPECT_NE(Render(options, &TellContention).find("cache/GET id 0x64"), std::string::npos);
  options.request = "PUT:slowest";
  Render(options, &TellContention);
  EXPECT_FALSE(found_);
}

TEST_F(RenderReport, EveryGenerationOfAnIdIsShown) {
  ReportOptions options;
  options.request = "5";
  const std::string text = Render(options, [](Teller& tell) {
    for (uint64_t i = 0; i < 3; ++i) {
      const NodeId request = tell.AddRequest(5, "GET", kT0 + i * kMs);
      tell.End(request, kT0 + i * kMs, kT0 + (i + 1) * kMs);
    }
  });
  EXPECT_NE(text.find("3 requests had this id"), std::string::npos) << text;
  EXPECT_NE(text.find("begun 0.002000000 s"), std::string::npos);
}

TEST_F(RenderReport, ThreadsShowWhatTheyWaitedOn) {
  ReportOptions options;
  options.by = ReportBy::kThread;
  options.format = ReportFormat::kCsv;
  const std::string text = Render(options, [](Teller& tell) {
    const NodeId thread = tell.AddThread("worker", 42);
    tell.AddSlice(thread, ThreadState::kRunning, 2 * kMs, ThreadSlice::Wait::kNone);
    tell.AddSlice(thread, ThreadState::kBlocked, 5 * kMs, ThreadSlice::Wait::kFutex);
    tell.AddSlice(thread, ThreadState::kBlocked, 1 * kMs, ThreadSlice::Wait::kEpoll);
    tell.AddRuntime(thread, 1'500'000);
  });
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "worker/42,1500000,8000000,2000000,0,6000000,0,5000000,0,1000000,0,0\n");
}

TEST_F(RenderReport, IoOperationsShowLatencyErrorsAndOwners) {
  ReportOptions options;
  options.by = ReportBy::kIoRequest;
  options.format = ReportFormat::kCsv;
  const std::string text = Render(options, [](Teller& tell) {
    const NodeId request = tell.AddRequest(1, "GET", kT0);
    for (uint64_t i = 1; i <= 4; ++i) {
      const NodeId io = tell.AddIo(22, kT0);
      tell.EndIo(io, 22, kT0, kT0 + i * kMs, i == 4 ? -5 : 4096);
      if (i == 1) tell.AddOwner(io, request);
    }
  });
  EXPECT_EQ(text.substr(text.find('\n') + 1), "READ,4,2000000,4000000,4000000,10000000,1,0,0,1\n");
}

TEST_F(RenderReport, HeaderNamesLossesAndUnavailableHooks) {
  const std::string text = Render({}, [](Teller& tell) {
    tell.AddHook("hook.io_uring.complete", "unavailable: no such tracepoint");
    tell.AddLoss(17, kT0 + kMs, kT0 + 2 * kMs);
  });
  EXPECT_NE(text.find("17 events in 1 break of edge.cpu0, ring_full, from 0.001000000 s to "
                      "0.002000000 s"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("not hooked : io_uring.complete (no such tracepoint)"), std::string::npos);
  EXPECT_NE(text.find("No requests: the program named none"), std::string::npos);
}

TEST_F(RenderReport, HostileNamesAreHarmless) {
  const std::string text = Render({}, [](Teller& tell) {
    const NodeId request = tell.AddRequest(1, "\x1b[2J\xe2\x80\xae,\"", kT0);
    tell.End(request, kT0, kT0 + kMs);
  });
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("cache/\\x1b[2J\\xe2\\x80\\xae,\""), std::string::npos) << text;
}

TEST(RequestId, DecimalHexadecimalAndTraceId) {
  EXPECT_EQ(ParseRequestId("42"), (Key{0, 42}));
  EXPECT_EQ(ParseRequestId("0x2a"), (Key{0, 42}));
  EXPECT_EQ(ParseRequestId("000000000000000a000000000000002a"), (Key{10, 42}));
  EXPECT_EQ(ParseRequestId("0x1000000000000002a"), (Key{1, 42}));
  EXPECT_EQ(ParseRequestId("x"), std::nullopt);
  EXPECT_EQ(ParseRequestId("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseRequestId("0x"), std::nullopt);
}

}  // namespace
}  // namespace cprof

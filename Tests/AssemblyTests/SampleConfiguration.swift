/// A configuration with no key at its default and no value twice.
enum SampleConfiguration {
  static let yaml = """
    kafka:
      bootstrap_servers: ["k1:9001", "k2:9002"]
      group: a-group
      static_membership: true
      client_id: a-client
      topics:
        { events: t-events, segments: t-segments, bulk_segments: t-bulk,
          dead_letters: t-dead, stragglers: t-late, tokens: t-tokens,
          outcomes: t-outcomes }
      security:
        protocol: sasl_ssl
        mechanism: SCRAM-SHA-256
        username: ku
        password: kp
        ca_file: kafka.pem
      fetch_wait_maximum: 101ms
      session_timeout: 91s
      heartbeat_interval: 4s
      maximum_event_bytes: 5KiB
      properties: { socket.keepalive.enable: "true" }
    redis:
      host: redis.example
      port: 6001
      username: ru
      password: rp
      database: 6
      tls: { enabled: true, ca_file: redis.pem }
      connect_timeout: 7s
      command_timeout: 8s
      reconnect_minimum: 109ms
      reconnect_maximum: 10s
      wait_for_replicas: 3
      read_from_replicas: true
      replica_lag_limit: 37s
      prefix: { data: "pd:", dashboards: "pb:" }
    audience: { page_size: 111, plain_set_key: "plain:{streamer}" }
    rules:
      muted_streamers: true
      quiet_hours: true
      default_time_zone: Asia/Kathmandu
      devices: newest
      events_per_hour: 34
    outcomes: { recipients: sampled, sample: 2% }
    traces:
      { endpoint: "https://collector.example/v1/traces", sample: 3%, headers: "x-key=k%20v",
        ca_file: traces.pem, attributes: { deployment.environment.name: stage } }
    templates: { directory: ., unknown_wait: 47s, reload_interval: 48s }
    apns:
      production:
        { host: production.example, port: 2001, interface: binary, broadcast_host: b.example,
          broadcast_port: 2003, channels_host: c.example, channels_port: 2004 }
      sandbox:
        { host: sandbox.example, port: 2002, interface: binary, broadcast_host: d.example,
          broadcast_port: 2005, channels_host: e.example, channels_port: 2006 }
      binary_accepted_after: 4s
      ca_file: apns.pem
      proxy: { host: proxy.example, port: 2007, username: pu, password: pp }
      key_file: key.p8
      key_id: KEYKEYKEY1
      team_id: TEAMTEAM12
      token_lifetime: 41m
      connections_per_lane: 12
      connections_per_lane_maximum: 14
      streams_per_connection: 113
      ready_pushes_per_lane: 114
      request_timeout: 15s
      connect_timeout: 16s
      ping_interval: 17m
      retry: { initial: 118ms, maximum: 19s }
    fcm: { host: fcm.example, port: 2008, ca_file: apns.pem, token_file: token, project: p-1,
      proxy: { host: g.example, port: 2010, username: gu, password: gp },
      connections_per_lane: 3, connections_per_lane_maximum: 9, streams_per_connection: 99,
      messages_per_minute: 1200 }
    webpush: { vapid_key_file: vapid.pem, vapid_key_id: other,
      former_vapid_keys: {old: {file: o.pem}}, subject: "mailto:a@example.com",
      hosts: [push.example], ports: ["8443"],
      connect_to: "127.0.0.1:2009", ca_file: apns.pem,
      proxy: { host: w.example, port: 2011, username: wu, password: wp }, connections_per_lane: 2,
      connections_per_lane_maximum: 5, streams_per_connection: 98, key_pair_per_message: true }
    lanes:
      count: 20
      segments_per_lane: 21
      batch_bytes: 30MiB
      straggle_after: 22s
      straggle_delay: 23s
      claim_lifetime: 24s
      revoke_timeout: 25s
      drain_timeout: 26s
    events:
      default_expires_in: 27s
      maximum_expires_in: 28h
      maximum_send_ahead: 29h
      cooldown: 30s
      trace: all
      trace_maximum: 40
    devices: { removal_share: 44, removal_samples: 45, removal_window: 46s }
    limits: { event: 34, apps: { com.example.x: "35" } }
    worker: { id: w-29, heartbeat_interval: 18s }
    api:
      host: "::1"
      port: 36
      plain: true
      keys_file: api-keys
      threads: 43
      tls: { certificate_file: api.crt, key_file: api.key }
      maximum_connections: 37
      exchange_timeout: 38s
      idle_timeout: 44s
      requests_per_second: 39
      imports: { maximum_bytes: 40MiB, at_once: 41, timeout: 42m, minimum_rate: 45KiB }
      audit: false
    probes: { host: h-32, port: 33 }
    log: { level: debug, format: json }
    """
}

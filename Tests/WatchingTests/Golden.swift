/// Screens as they should be, without blanks at the ends of lines and empty lines.
enum Golden {
  static let wide = """
    2 of 3 fan-outs go on · 41,000/s · lag 2,408 · 2 workers · data 1 s old
    FAN-OUTS of the newest 50, by risk of expiry
    ▸ paused    live-9d01                s1           [████░░░░░░░░░░░░] 1,000 of 4,000 · 0/s · \
    expires in 60 min
        by ada, 4 min ago: wrong title
      running   live-8f2c                aiko         [██████████░░░░░░] 812,400 of 1,200,591 · \
    41,000/s · 10 s left · expires in 14 min
      done      live-0                   s1           [████████████████] 4,000 of 4,000 · 40 \
    rejected · ended 10 min ago
    WORKERS
      WORKER    VERSION  READY    LAG  STREAMS  CONNS        RSS  BEAT  CLOCK
      worker-1  0.1.0       12  1,204      900      4  175.0 MiB   3 s     ok
      worker-2  0.1.0       12  1,204      900      4  175.0 MiB  40 s     ok
        no heartbeat since: it is gone, hangs, or has no Redis
        waits for: Redis: no connection
    OBSTACLES
      1:20  2 workers  production: cannot be reached
    q quit  ↑↓ select  tab section  / filter  ? help  o operate
    """

  static let usual = """
    2 of 3 fan-outs go on · 41,000/s · lag 2,408 · 2 workers · data 1 s old
    FAN-OUTS of the newest 50, by risk of expiry
    ▸ paused    live-9d01 s1
      [██░░░░░░░░] 1,000 of 4,000 · 0/s · expires in 60 min
        by ada, 4 min ago: wrong title
      running   live-8f2c aiko
      [██████░░░░] 812,400 of 1,200,591 · 41,000/s · 10 s left · expires in 14 min
      done      live-0 s1
      [██████████] 4,000 of 4,000 · 40 rejected · ended 10 min ago
    WORKERS
      WORKER    READY    LAG  STREAMS  CONNS  BEAT
      worker-1     12  1,204      900      4   3 s
      worker-2     12  1,204      900      4  40 s
        no heartbeat since: it is gone, hangs, or has no Redis
        waits for: Redis: no connection
    OBSTACLES
      1:20  2 workers  production: cannot be reached
    q quit  ↑↓ select  tab section  / filter  ? help  o operate
    """

  static let narrow = """
    2 go on · 41,000/s · data 1 s old
    FAN-OUTS of the newest 50
    ▸ paused    live-9d01 s1
      1,000 of 4,000 · expires in 60 min
        by ada, 4 min ago: wrong title
      running   live-8f2c aiko
      812,400 of 1,200,591 · 10 s left
      done      live-0 s1
      4,000 of 4,000 · 40 rejected
    WORKERS
      WORKER      LAG  STREAMS  BEAT
      worker-1  1,204      900   3 s
      worker-2  1,204      900  40 s
        no heartbeat since: it is gone, han…
        waits for: Redis: no connection
    OBSTACLES
      1:20  2 workers  production: cannot b…
    q quit  ? help  / filter  tab
    """

  static let plain = """
    2 of 3 fan-outs go on - 41,000/s - lag 2,408 - 2 workers - data 1 s old
    FAN-OUTS of the newest 50, by risk of expiry
    > paused    live-9d01 s1
      [##--------] 1,000 of 4,000 - 0/s - expires in 60 min
        by ada, 4 min ago: wrong title
      running   live-8f2c aiko
      [######----] 812,400 of 1,200,591 - 41,000/s - 10 s left - expires in 14 min
      done      live-0 s1
      [##########] 4,000 of 4,000 - 40 rejected - ended 10 min ago
    WORKERS
      WORKER    READY    LAG  STREAMS  CONNS  BEAT
      worker-1     12  1,204      900      4   3 s
      worker-2     12  1,204      900      4  40 s
        no heartbeat since: it is gone, hangs, or has no Redis
        waits for: Redis: no connection
    OBSTACLES
      1:20  2 workers  production: cannot be reached
    q quit  j/k select  tab section  / filter  ? help  o operate
    """
}

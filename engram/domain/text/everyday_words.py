"""Everyday English and software words that are also names of tools, projects or companies.

A name made only of these is recognised only in its exact spelling: not every spring is Spring.
"""

EVERYDAY_WORDS = frozenset(
    """
    actor agent airflow alert alias alpha amber anchor angular answer apple apply arrow artifact asset atlas atom audit
    avalanche azure backend backlog backup balance banner base basket batch beam bear beat bench beta billing block blue
    board bolt book bottle bound bounce box branch bridge broker bronze browser bucket budget buffer bug build builder
    bulk bundle burst bus button cabinet cache call camel canary canvas capacitor capital captain card cargo cart case
    cask catalog celery cell center chain chance change channel charm chart chat check checkout chef chrome
    circle clean clear client climate clock cloud cluster coda code coffee cold collector column comet command comment
    commit common compass compose concept concord config connect console consul consumer contact container content
    context contract control core counter cover crane create crystal cube current cursor curve customer cycle daily
    daemon dagger dash dashboard data database date deck deep default delta demo depot design desk dev device diff
    direct discovery dispatch display document dojo domain done door draft dragon draw dream drill drive driver
    drop druid duck dust eagle earth east echo eclipse edge editor elastic element elixir ember empire engine english
    entity entry envoy epic error escape event exchange exec expense express extra fabric face falcon fast feather
    feature feed fiber field file filter finance fire fireworks first fish fixture flag flame flask fleet
    flex flight flink flow fluent flux focus folder force forge form format forum foundry frame framework front frontend
    function fusion future galaxy game gate gateway gatling gear gem general ghost glue go gold grade grain graph
    graphite grass great green grid grill group guard guide gulp habitat hack hammer handle handler harbor hatch
    haven head heart heat hello helm help helper hero hibernate hill hive hook horizon host hour house hub hudson human
    icon idea image impact import inbox index indigo influx input insight instance intel intercom internal internet
    invoice iron island item jade jasmine jet job join journal jump junction jungle keep kernel key keyboard kind
    king kite knife knight kong label lab lambda lane language laser last latch launch layer lead leaf ledger lens
    less level liberty library light lightning lime line linear link lint lion list listen live load local lock log
    logic logical login loop lucid luna machine magic mail main make manager manifest map maple mark market mask master
    match material matrix maven media meeting member memory mercury mesh message meta meteor metric metrics middle
    migration mint mirror mission mobile mock mode model module moment monday monitor moon mosaic motion mouse move nano
    native navigator neon nest net network new news next nexus night node noon north note notebook notice notion nova
    null number oasis object ocean office okay olive onion open opera operator option oracle orange orbit order origin
    output outbox outline owner pack package packer page paint panda panel paper parcel parser partner patch path pattern
    pay payment peak pepper phoenix photo phrase piece pilot pine pipe pipeline pixel place plan planet plant plastic
    platform play plot plugin plus pocket point policy polymer pool portal position post power prefect press price prism
    process producer product profile program project promise proof property prototype provider proxy publish pulsar pulse
    puma puppet pure purple python quartz quasar query question queue quick quiet quota rabbit race radar rails rain
    ranger rank raven ray react reader ready record recorder red redwood reference region register registry relay release
    remix remote render replica report request resource response rest result retry review ribbon ring river road robot
    rocket role roller room root rose round route router row ruby rule ruler runner runtime rush rust safari safe sail
    sales sample sanity sass scale scheduler schema scope scout screen script seal search season second section seed
    segment send sentinel sentry sequence serial server service session shadow shape share shell shield shift
    ship shop short shuttle side signal silk silver simple site skeleton sketch slack slate slice slim small smart snap
    snow snowflake socket soft solid sonar source space spark spec speed spider spin spine spiral splash spring
    sprint square squid stable stack stage staging star start state station status steam stock storage store storm story
    stream street strike stripe strong studio style sublime sugar summit sun supervisor support surge survey swagger
    swarm sweep swift switch symphony sync system table tag tail target task team tempo terminal test text theme thread
    thrift tide tiger tile time timer titan token tomcat tool top torch total touch tower trace track trade traffic trail
    train transfer transit travel tree trigger trunk trust tune turbo twig type unit unity update upload user
    vagrant validator vault vector velocity venture version vertex view village vine violet vision vite voice volt volume
    wagon wallet watch watcher water wave weather web week wheel whisper white wild wind window winter wire wizard wolf
    word work worker workflow world writer yarn year yellow zebra zero zone zoo zoom
    """.split()  # noqa: SIM905 - one word a line would be six hundred lines
)

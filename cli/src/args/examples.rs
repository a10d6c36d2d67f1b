//! Examples at the end of the help pages. A test parses each of them.

pub(super) const PROGRAM: &str = "\
Examples:
  hyperslab import temperature.npy temperature
  hyperslab info temperature
  hyperslab export temperature part.csv --select 0:10,0:10

Exit codes:
  0    success
  1    the command failed, or found damage
  2    an argument is wrong; nothing was done
  130  interrupted by Ctrl-C or a signal; unfinished files were removed";

pub(super) const CREATE: &str = "\
Examples:
  hyperslab schema old > schema.json
  hyperslab create new --schema schema.json";

pub(super) const SCHEMA: &str = "\
Examples:
  hyperslab schema temperature
  hyperslab schema temperature --at 2026-03-01";

pub(super) const INFO: &str = "\
Examples:
  hyperslab info temperature
  hyperslab info s3://bucket/a s3://bucket/b --json";

pub(super) const EXPORT: &str = "\
Examples:
  hyperslab export temperature all.npy
  hyperslab export temperature part.csv --select 0:100,5:20
  hyperslab export temperature warm.csv --where 'data between 300 and 310' --rows
  hyperslab export temperature map.png --cmap viridis --range 270:310
  hyperslab export quakes --count --where \"place like '%Alaska'\"
  hyperslab export quakes --agg min,max,mean --attrs mag
  hyperslab export quakes strong.arrow --where \"mag >= 4.5 and place != 'Alaska'\"
  hyperslab export quakes - --format jsonl --attrs mag,place --at 2026-03-01";

pub(super) const WRITE: &str = "\
Examples:
  hyperslab write temperature day.npy --select 0:24,:
  hyperslab write quakes new.csv
  hyperslab write quakes - --format arrow --timestamp 2026-03-01";

pub(super) const IMPORT: &str = "\
Examples:
  hyperslab import temperature.npy temperature --tile 256,256 --dims lat,lon
  hyperslab import quakes.csv quakes --sparse --dims lon,lat
  hyperslab import quakes.csv s3://bucket/quakes --filters byteshuffle,zstd:9 --types id=string_ascii";

pub(super) const APPEND: &str = "\
Examples:
  hyperslab append day2.nc year
  hyperslab append day3.nc day4.nc year --along time";

pub(super) const META: &str = "\
Examples:
  hyperslab meta ls temperature
  hyperslab meta set temperature units kelvin";

pub(super) const META_LS: &str = "\
Examples:
  hyperslab meta ls temperature --json";

pub(super) const META_GET: &str = "\
Examples:
  hyperslab meta get temperature units";

pub(super) const META_SET: &str = "\
Examples:
  hyperslab meta set temperature units kelvin
  hyperslab meta set temperature range 180.5,330 --type float64";

pub(super) const META_RM: &str = "\
Examples:
  hyperslab meta rm temperature units --dry-run";

pub(super) const DELETE: &str = "\
Examples:
  hyperslab delete quakes --where 'mag < 1' --dry-run
  hyperslab delete quakes --where \"status == 'deleted'\"";

pub(super) const EVOLVE: &str = "\
Examples:
  hyperslab evolve quakes --add-attr depth:float32 --dry-run
  hyperslab evolve quakes --drop-attr place
  hyperslab evolve quakes --extend-enum status=automatic,reviewed";

pub(super) const CONSOLIDATE: &str = "\
Examples:
  hyperslab consolidate quakes
  hyperslab consolidate quakes --mode commits
  hyperslab consolidate temperature --memory 2GiB --at 2026-01..2026-03";

pub(super) const VACUUM: &str = "\
Examples:
  hyperslab vacuum quakes --dry-run
  hyperslab vacuum quakes --mode commits";

pub(super) const GROUP: &str = "\
Examples:
  hyperslab group create weather
  hyperslab group add weather temperature";

pub(super) const GROUP_CREATE: &str = "\
Examples:
  hyperslab group create weather";

pub(super) const GROUP_ADD: &str = "\
Examples:
  hyperslab group add weather temperature
  hyperslab group add weather s3://bucket/wind --name wind";

pub(super) const GROUP_RM: &str = "\
Examples:
  hyperslab group rm weather wind --dry-run";

pub(super) const GROUP_LS: &str = "\
Examples:
  hyperslab group ls weather --json";

pub(super) const LS: &str = "\
Examples:
  hyperslab ls .
  hyperslab ls s3://bucket/arrays --json";

pub(super) const TREE: &str = "\
Examples:
  hyperslab tree .
  hyperslab tree weather --json";

pub(super) const VERIFY: &str = "\
Examples:
  hyperslab verify temperature quakes
  hyperslab verify weather --json";

pub(super) const INDEX: &str = "\
Examples:
  hyperslab index temperature";

pub(super) const SNAPSHOT: &str = "\
Examples:
  hyperslab snapshot s3://bucket/quakes > quakes.snapshot
  hyperslab export s3://bucket/quakes all.csv --snapshot quakes.snapshot";

pub(super) const SERVE: &str = "\
Examples:
  hyperslab serve arrays
  hyperslab serve arrays --port 0 --allow-origin https://example.org";

pub(super) const VIEW: &str = "\
Examples:
  hyperslab view temperature
  hyperslab view s3://bucket/weather --no-open";

pub(super) const PUBLISH: &str = "\
Examples:
  hyperslab publish temperature site
  hyperslab publish https://example.org/arrays/weather site --link --force";

pub(super) const COPY: &str = "\
Examples:
  hyperslab copy temperature s3://bucket/temperature
  hyperslab copy weather backup/weather --dry-run";

pub(super) const OVERVIEWS: &str = "\
Examples:
  hyperslab overviews temperature --factors 4 --factors 16
  hyperslab overviews temperature --factors 1,4,4
  hyperslab overviews raster --method mode";

pub(super) const COMPLETIONS: &str = "\
Examples:
  hyperslab completions bash > ~/.local/share/bash-completion/completions/hyperslab
  hyperslab completions zsh > ~/.zfunc/_hyperslab
  hyperslab completions fish > ~/.config/fish/completions/hyperslab.fish";

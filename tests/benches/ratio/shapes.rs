//! The documents of MongoDB's benchmark for drivers, in structs, between them and BSON without a server: the derive's own code against
//! that of serde. They have the shapes and sizes that the specification gives (flat: 24 fields of each of five types; deep: a binary
//! tree; full: six fields of each type); its data have a licence of their own, and are not here.

use crate::pairs::{Rounds, alternate};
use crate::report::{Measured, Report, Single};
use crate::{Options, Result};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{
    self, Binary, Bson, DateTime, Decimal128, JavaScriptCodeWithScope, Regex, Timestamp, doc,
};
use odm::__private::stored::{read_alone, write_alone};
use odm::prelude::*;
use odm::types::Stored;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::{Duration, Instant};

pub const NAMES: [&str; 6] = [
    "bson: encode flat",
    "bson: decode flat",
    "bson: encode deep",
    "bson: decode deep",
    "bson: encode full",
    "bson: decode full",
];

/// How many documents a block has.
const BLOCK: usize = 1_000;

/// A value of a field that has this number.
trait Sample {
    fn sample(n: usize) -> Self;
}

/// A text of as many characters as the specification gives.
fn text(n: usize, length: usize) -> String {
    let letter = |at: usize| char::from(b'A' + ((n * 7 + at * 11) % 26) as u8);
    (0..length).map(letter).collect()
}

impl Sample for String {
    fn sample(n: usize) -> String {
        text(n, 80)
    }
}

impl Sample for i32 {
    fn sample(n: usize) -> i32 {
        n as i32
    }
}

impl Sample for i64 {
    fn sample(n: usize) -> i64 {
        i64::MAX / (n as i64 + 1)
    }
}

impl Sample for f64 {
    fn sample(n: usize) -> f64 {
        n as f64 / 7.0
    }
}

impl Sample for bool {
    fn sample(n: usize) -> bool {
        n.is_multiple_of(2)
    }
}

impl Sample for ObjectId {
    fn sample(n: usize) -> ObjectId {
        ObjectId::from_bytes([n as u8; 12])
    }
}

impl Sample for DateTime {
    fn sample(n: usize) -> DateTime {
        DateTime::from_millis(776_822_400_000 + n as i64)
    }
}

impl Sample for Timestamp {
    fn sample(n: usize) -> Timestamp {
        Timestamp {
            time: n as u32,
            increment: 1,
        }
    }
}

impl Sample for Decimal128 {
    fn sample(n: usize) -> Decimal128 {
        Decimal128::from_bytes([n as u8; 16])
    }
}

impl Sample for Binary {
    fn sample(n: usize) -> Binary {
        Binary {
            subtype: BinarySubtype::Generic,
            bytes: text(n, 80).into_bytes(),
        }
    }
}

impl Sample for Regex {
    fn sample(n: usize) -> Regex {
        let (pattern, options) = (text(n, 8), "i".to_owned());
        let bson = Bson::RegularExpression(Regex {
            pattern: pattern.try_into().expect("has no zero byte"),
            options: options.try_into().expect("has no zero byte"),
        });
        match bson {
            Bson::RegularExpression(regex) => regex,
            _ => unreachable!("it was made above"),
        }
    }
}

impl Sample for Vec<String> {
    fn sample(n: usize) -> Vec<String> {
        (0..2).map(|item| text(n + item, 8)).collect()
    }
}

/// The types that no type of Rust is stored as.
impl Sample for Bson {
    fn sample(n: usize) -> Bson {
        match n % 4 {
            0 => Bson::MinKey,
            1 => Bson::MaxKey,
            2 => Bson::JavaScriptCode(text(n, 80)),
            _ => Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
                code: text(n, 80),
                scope: doc! {},
            }),
        }
    }
}

/// A struct whose fields are of these types, and one sample of it.
macro_rules! shape {
    ($name:ident: $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)?) => {
        #[derive(Embed, Serialize, Deserialize)]
        struct $name {
            #[serde(rename = "_id")]
            id: ObjectId,
            $($(#[$attribute])* $field: $type,)*
        }

        impl Sample for $name {
            fn sample(n: usize) -> $name {
                let mut n = n..;
                let mut next = || n.next().expect("has no end");
                $name { id: ObjectId::sample(next()), $($field: Sample::sample(next()),)* }
            }
        }
    };
}

shape! { Flat:
    hqrfhhri: String,
    mroxwrqu: i32,
    ksvlmimw: i64,
    adaribpv: f64,
    fltjlozz: bool,
    yugyyaof: String,
    pabdzxzs: i32,
    dfroavnn: i64,
    gldpryfs: f64,
    lopdqyou: bool,
    anrzbpqu: String,
    rdqzjrov: i32,
    aknqcssn: i64,
    rihxpspg: f64,
    zrbkojrv: bool,
    togrlwji: String,
    pyerunzf: i32,
    djoxavvf: i64,
    vnxcrqqy: f64,
    jswsvoxo: bool,
    pmauywie: String,
    zvymmumk: i32,
    kmsuvkro: i64,
    nqxskptd: f64,
    aemgznib: bool,
    myrkbqib: String,
    kyajoctp: i32,
    xrzrelic: i64,
    xpqsahvy: f64,
    nfxzzdsu: bool,
    xatqtxyf: String,
    yspueeqr: i32,
    nngpboom: i64,
    crbdjqcs: f64,
    geuctqgy: bool,
    olhzzphc: String,
    vcprgfzm: i32,
    grhdfrcp: i64,
    xzpqaaga: f64,
    kjjcfqzx: bool,
    jdeafbpx: String,
    ykcdyvzr: i32,
    xmjbuqnk: i64,
    vsbofbaj: f64,
    pkbwrbnu: bool,
    kgukpyds: String,
    ynpbjbvg: i32,
    aomuqffp: i64,
    pvzycyux: f64,
    njztqyda: bool,
    fmwjxohk: String,
    yjyuusou: i32,
    bbhdynfb: i64,
    lxgfwzjl: f64,
    zvggncmu: bool,
    vyluxjaj: String,
    hbhifkxd: i32,
    rdtpjaoh: i64,
    tewdhinn: f64,
    hwvkhayw: bool,
    prbbiixu: String,
    ijargjji: i32,
    wimwumua: i64,
    krpfgsne: f64,
    ulhxhdsi: bool,
    revnjwob: String,
    acdtpyjv: i32,
    xljowieh: i64,
    cnyojxkk: f64,
    ewwhlurd: bool,
    shhaxydy: String,
    tkjknudl: i32,
    fxhqlqux: i64,
    dsgzqpoj: f64,
    gqkmhkhk: bool,
    feoiqcwt: String,
    cylsrhnq: i32,
    ofrykzar: i64,
    dsljgmog: f64,
    ehqlatof: bool,
    iluakmiz: String,
    baqrhznm: i32,
    gzbtnxah: i64,
    tbyplhia: f64,
    rlpowsah: bool,
    ssfhxspp: String,
    temmyxah: i32,
    syghlzrv: i64,
    smhujjdu: f64,
    rjsavadb: bool,
    xxnciact: String,
    ysbujkcn: i32,
    indqxcnm: i64,
    fjpclcxl: f64,
    cmqttszg: bool,
    edgbczpi: String,
    pkkfmmip: i32,
    vhudktjn: i64,
    jampbtdj: f64,
    smcpyncd: bool,
    gytujnwg: String,
    jdxtjsun: i32,
    heysfbki: i64,
    umlclioc: f64,
    yhxoleqo: bool,
    xltatfae: String,
    lczwwxmy: i32,
    hfgzlehb: i64,
    gsivrwio: f64,
    ahjunsbl: bool,
    idrctvnq: String,
    wtrmzbya: i32,
    ntvypngg: i64,
    apsutobd: f64,
    pkbhbvgi: bool,
    nybddhfp: String,
    rscorabf: i32,
    rgnrqofh: i64,
    nduriwny: f64,
    zxzjacit: bool,
}

shape! { Full:
    yxibqnpr: String,
    wlawrast: f64,
    sxfkkwbn: i64,
    rgipkzpt: i32,
    itwygiqr: bool,
    #[embed(max = 2)] vyhfnwjn: Vec<String>,
    ndsrhuiz: Binary,
    ccbhhvop: DateTime,
    bzfrzhja: Regex,
    ewrjimlk: Timestamp,
    fvwryaol: Decimal128,
    #[field(opaque)] yayauogw: Bson,
    #[field(opaque)] zsojwpgb: Bson,
    #[field(opaque)] ebyglsie: Bson,
    #[field(opaque)] ghdowdta: Bson,
    nbkbvitp: String,
    fxpvlzpw: f64,
    psiuutte: i64,
    qirlmznl: i32,
    pfplvfyc: bool,
    #[embed(max = 2)] janqgjon: Vec<String>,
    gbryngpx: Binary,
    tficqwlw: DateTime,
    khmavlxm: Regex,
    pbpkwpjs: Timestamp,
    gskdecfw: Decimal128,
    #[field(opaque)] fontsnze: Bson,
    #[field(opaque)] afhlbqur: Bson,
    #[field(opaque)] zopjdwpb: Bson,
    #[field(opaque)] vnxjzjcx: Bson,
    miaaboie: String,
    dbtdizoc: f64,
    narjuteo: i64,
    nxyqoctb: i32,
    bzmiuusj: bool,
    #[embed(max = 2)] gwgbsezk: Vec<String>,
    akvkihnb: Binary,
    dypeyzjr: DateTime,
    lnrzwojx: Regex,
    wosuwdyy: Timestamp,
    eileilkz: Decimal128,
    #[field(opaque)] fnocnevn: Bson,
    #[field(opaque)] amnhtsqy: Bson,
    #[field(opaque)] inxkhffc: Bson,
    #[field(opaque)] homsjjou: Bson,
    swalgruc: String,
    nejsdeks: f64,
    bydryznd: i64,
    jcqnfhcc: i32,
    pfamyjtm: bool,
    #[embed(max = 2)] xoxdmiiu: Vec<String>,
    varclogh: Binary,
    qgrlbiqu: DateTime,
    otsdjtqy: Regex,
    hhmfcbrn: Timestamp,
    lrwcdgyv: Decimal128,
    #[field(opaque)] jmldmrrv: Bson,
    #[field(opaque)] woplajed: Bson,
    #[field(opaque)] qpzivyzx: Bson,
    #[field(opaque)] lmkqwjmw: Bson,
    iemfljib: String,
    qcgtreao: f64,
    hrsyyipm: i64,
    knfqzxeo: i32,
    lktmhbzk: bool,
    #[embed(max = 2)] jpgzjhxc: Vec<String>,
    kwmxgsth: Binary,
    fchxbsag: DateTime,
    exathxsz: Regex,
    omrhxlny: Timestamp,
    azxkqrpu: Decimal128,
    #[field(opaque)] pwbtcoui: Bson,
    #[field(opaque)] lgmyzgjn: Bson,
    #[field(opaque)] uccdwnrv: Bson,
    #[field(opaque)] yqvqpdcv: Bson,
    xowhkieb: String,
    sbogmzwq: f64,
    yisnhjjj: i64,
    ljjvniak: i32,
    ccznzvib: bool,
    #[embed(max = 2)] gpfqqxqx: Vec<String>,
    enlzuufu: Binary,
    avrevxxa: DateTime,
    boluqvdk: Regex,
    tgaatykj: Timestamp,
    iueacoue: Decimal128,
    #[field(opaque)] bjkshdaq: Bson,
    #[field(opaque)] wdwdsrvz: Bson,
    #[field(opaque)] vdofmiwe: Bson,
    #[field(opaque)] xqesfxxw: Bson,
}

/// A leaf of the tree.
#[derive(Embed, Serialize, Deserialize)]
struct Leaf {
    #[serde(rename = "leftValue")]
    left: String,
    #[serde(rename = "rightValue")]
    right: String,
}

impl Sample for Leaf {
    fn sample(n: usize) -> Leaf {
        Leaf {
            left: text(n, 8),
            right: text(n + 1, 8),
        }
    }
}

macro_rules! levels {
    ($($level:ident of $below:ident),*) => {
        $(
            #[derive(Embed, Serialize, Deserialize)]
            struct $level {
                left: $below,
                right: $below,
            }

            impl Sample for $level {
                fn sample(n: usize) -> $level {
                    $level { left: Sample::sample(2 * n), right: Sample::sample(2 * n + 1) }
                }
            }
        )*
    };
}

levels!(Fifth of Leaf, Fourth of Fifth, Third of Fourth, Second of Third, Deep of Second);

/// Both ways of one shape, each by both sides.
pub async fn measure(name: &str, options: &Options, report: &mut Report) {
    let pairs = match name.rsplit_once(' ') {
        Some((way, "flat")) => compare::<Flat>(way, options).await,
        Some((way, "deep")) => compare::<Deep>(way, options).await,
        Some((way, _)) => compare::<Full>(way, options).await,
        None => Err(format!("{name} is no shape").into()),
    };
    report.add(Measured::of(name, "serde", Some(1.0), Single::None, &pairs));
}

async fn compare<T>(way: &str, options: &Options) -> Result<crate::pairs::Pairs>
where
    T: Stored + Sample + Serialize + DeserializeOwned,
{
    let value = T::sample(1);
    let encode = || write_alone(|name, out| value.write(name, None, out));
    let stored = encode()?;
    let by_serde = || bson::serialize_to_vec(&Field { v: &value });
    if stored != by_serde()? {
        return Err("the two sides write other bytes".into());
    }
    let rounds = Rounds::new(options.rounds(60));
    if way.ends_with("encode") {
        alternate(
            rounds,
            async || timed(|| Ok(encode()?)),
            async || timed(|| Ok(by_serde()?)),
        )
        .await
    } else {
        alternate(
            rounds,
            async || timed(|| Ok(read_alone(black_box(&stored), T::read)?)),
            async || timed(|| Ok(bson::deserialize_from_slice::<Field<T>>(black_box(&stored))?)),
        )
        .await
    }
}

/// How long a block of one conversion takes.
fn timed<O>(mut convert: impl FnMut() -> Result<O>) -> Result<Duration> {
    let started = Instant::now();
    for _ in 0..BLOCK {
        black_box(convert()?);
    }
    Ok(started.elapsed())
}

/// A document whose one field is the value, as both sides write and read it.
#[derive(Serialize, Deserialize)]
struct Field<T> {
    v: T,
}

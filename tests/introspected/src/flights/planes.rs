//! The collection `planes`.

use odm::prelude::*;

/// A document of `planes`: 3322 were counted. Half of them have up to 159 bytes, the largest has
/// 182.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "planes")]
pub struct Plane {
    pub id: String,
    // Missing in 70 of 3322.
    #[field(skip_none)]
    pub year: Option<i32>,
    #[field(name = "type")]
    pub type_: PlaneType,
    pub manufacturer: PlaneManufacturer,
    pub model: String,
    pub engines: i32,
    pub seats: i32,
    // Missing in 3299 of 3322.
    #[field(skip_none)]
    pub speed: Option<i32>,
    pub engine: PlaneEngine,
}

/// `type` of `planes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneType {
    #[embed(name = "Fixed wing multi engine")]
    FixedWingMultiEngine,
    #[embed(name = "Fixed wing single engine")]
    FixedWingSingleEngine,
    Rotorcraft,
}

/// `manufacturer` of `planes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneManufacturer {
    #[embed(name = "AGUSTA SPA")]
    AgustaSpa,
    #[embed(name = "AIRBUS")]
    Airbus,
    #[embed(name = "AIRBUS INDUSTRIE")]
    AirbusIndustrie,
    #[embed(name = "AMERICAN AIRCRAFT INC")]
    AmericanAircraftInc,
    #[embed(name = "AVIAT AIRCRAFT INC")]
    AviatAircraftInc,
    #[embed(name = "AVIONS MARCEL DASSAULT")]
    AvionsMarcelDassault,
    #[embed(name = "BARKER JACK L")]
    BarkerJackL,
    #[embed(name = "BEECH")]
    Beech,
    #[embed(name = "BELL")]
    Bell,
    #[embed(name = "BOEING")]
    Boeing,
    #[embed(name = "BOMBARDIER INC")]
    BombardierInc,
    #[embed(name = "CANADAIR")]
    Canadair,
    #[embed(name = "CANADAIR LTD")]
    CanadairLtd,
    #[embed(name = "CESSNA")]
    Cessna,
    #[embed(name = "CIRRUS DESIGN CORP")]
    CirrusDesignCorp,
    #[embed(name = "DEHAVILLAND")]
    Dehavilland,
    #[embed(name = "DOUGLAS")]
    Douglas,
    #[embed(name = "EMBRAER")]
    Embraer,
    #[embed(name = "FRIEDEMANN JON")]
    FriedemannJon,
    #[embed(name = "GULFSTREAM AEROSPACE")]
    GulfstreamAerospace,
    #[embed(name = "HURLEY JAMES LARRY")]
    HurleyJamesLarry,
    #[embed(name = "JOHN G HESS")]
    JohnGHess,
    #[embed(name = "KILDALL GARY")]
    KildallGary,
    #[embed(name = "LAMBERT RICHARD")]
    LambertRichard,
    #[embed(name = "LEARJET INC")]
    LearjetInc,
    #[embed(name = "LEBLANC GLENN T")]
    LeblancGlennT,
    #[embed(name = "MARZ BARRY")]
    MarzBarry,
    #[embed(name = "MCDONNELL DOUGLAS")]
    McdonnellDouglas,
    #[embed(name = "MCDONNELL DOUGLAS AIRCRAFT CO")]
    McdonnellDouglasAircraftCo,
    #[embed(name = "MCDONNELL DOUGLAS CORPORATION")]
    McdonnellDouglasCorporation,
    #[embed(name = "PAIR MIKE E")]
    PairMikeE,
    #[embed(name = "PIPER")]
    Piper,
    #[embed(name = "ROBINSON HELICOPTER CO")]
    RobinsonHelicopterCo,
    #[embed(name = "SIKORSKY")]
    Sikorsky,
    #[embed(name = "STEWART MACO")]
    StewartMaco,
}

/// `engine` of `planes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneEngine {
    #[embed(name = "4 Cycle")]
    N4Cycle,
    Reciprocating,
    #[embed(name = "Turbo-fan")]
    TurboFan,
    #[embed(name = "Turbo-jet")]
    TurboJet,
    #[embed(name = "Turbo-prop")]
    TurboProp,
    #[embed(name = "Turbo-shaft")]
    TurboShaft,
}
